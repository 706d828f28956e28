#!/bin/sh
# Sends alerts to Slack: stores a channel, tests it, and adds a rule about each failed run.
#
#   SLACK_URL=https://hooks.slack.com/services/… RUNLEDGER_KEY=apk_eu_… ./slack.sh
#
# In Slack, the app "Incoming WebHooks" gives the address. The key needs the scope admin.
set -eu
url=${RUNLEDGER_URL:-http://127.0.0.1:8000}
key=${RUNLEDGER_KEY:-apk_eu_0123456789abcdef0123456789abcdef}

call() {
  method=$1 path=$2
  shift 2
  curl -sS --fail-with-body -m 20 -X "$method" -u "$key:" "$url$path" "$@"
  echo
}

call PUT /v1/channels/slack -d '{"type":"slack","url":"'"$SLACK_URL"'","default":true}'
call POST /v1/channels/slack/test
call PUT /v1/rules/each-failure -d '{
  "kind": "run_failed",
  "params": {"consecutive": 1},
  "group_by": "agent",
  "severity": "critical",
  "channels": ["slack"]
}'
