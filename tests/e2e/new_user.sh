#!/bin/bash
# What somebody does who has read `piorch help` and the README and nothing else, in a home without
# a file of piorch's, on a terminal. MODEL is where their Pi's model is, HOST:PORT.
# Run by new_user_test, which also looks whether all of it is in those two.
set -eu
piorch help
piorch doctor
mkdir -p "$(dirname "$(piorch config path)")"
echo '{"network": {"allowedDomains": ["'"$MODEL"'"]}}' >"$(piorch config path)"
piorch config check
piorch policy
piorch exec -c 'curl -sS http://www.example.org/ && echo " came through the sandbox"'
piorch start -d --name helper "#plain ready"
piorch wait helper
piorch status
piorch follow-up helper "#bash curl -sS http://www.example.org/"
piorch result helper
piorch why helper
piorch stop helper
piorch status
echo "the tour is over"
