#!/bin/sh
# Backs up the ledger of RUNLEDGER_KV into a folder, then removes all but the newest KEEP backups.
# Usage: KEEP=14 backup.sh FOLDER
set -eu
if [ $# -ne 1 ] || ! [ -d "$1" ]; then
  echo "Usage: KEEP=14 $0 FOLDER (one that exists)" >&2
  exit 2
fi
# The script works in another folder.
folder=$(readlink -f -- "$1")
keep=${KEEP:-14}
if ! [ "$keep" -ge 1 ]; then
  echo "KEEP must be 1 or more, not $keep" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
"${DENO:-deno}" task -q backup "$folder/ledger-$(date -u +%Y%m%dT%H%M%SZ).kv"
# Their names sort by time. The key of the channels' secrets is next to each.
find "$folder" -maxdepth 1 -name 'ledger-*Z.kv' | sort -r | tail -n "+$((keep + 1))" |
  while read -r old; do
    rm -f -- "$old" "$old.seal"
    echo "Removed $old"
  done
