#!/bin/sh
# `polywire check` for every file: for the pre-commit hook and the GitHub Action. Arguments before the first file are options.
# Exit codes: 0 no findings, 1 findings, 2 bad input.
set -u
options=""
while [ $# -gt 0 ]; do
    case $1 in
        --) shift; break ;;
        --*=*) options="$options $1"; shift ;;
        --*) options="$options $1 ${2-}"; shift; [ $# -gt 0 ] && shift ;;
        *) break ;;
    esac
done
worst=0
for file in "$@"; do
    # The options are words without spaces.
    # shellcheck disable=SC2086
    "${POLYWIRE:-polywire}" check "$file" $options
    code=$?
    [ "$code" -gt "$worst" ] && worst=$code
done
exit "$worst"
