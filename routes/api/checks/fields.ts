/** Fields that responses about checks and their results share. */
import { CHECK_SEVERITIES, CHECK_STATUSES } from "../../../domain/runs/check_result.ts";
import { oneOfValue } from "../../openapi/wire.ts";

export const checkSeverity = oneOfValue("CheckSeverity", CHECK_SEVERITIES);

/** Status of a result. */
export const checkStatus = oneOfValue("CheckStatus", CHECK_STATUSES);
