/** Fields that responses about checks and their results share. */
import { CHECK_SEVERITIES, CHECK_STATUSES } from "../../../domain/runs/check_result.ts";
import * as shape from "../../openapi/wire.ts";

export const checkSeverity = shape.oneOf("CheckSeverity", CHECK_SEVERITIES);

/** Status of a result. */
export const checkStatus = shape.oneOf("CheckStatus", CHECK_STATUSES);
