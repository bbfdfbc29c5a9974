#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# follow_metrics.py sends each number of a run once, in rising steps, to a tracker that the test plays, while the run is
# stopped and resumed.
# usage: follow_metrics_test.sh WEFT SOURCES SCRATCH
set -euo pipefail
weft=$1 sources=$2 scratch=$3
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"

for i in $(seq 200); do echo "the boat $((i * 37 % 101)) went by"; done >text.txt
cat >job.yaml <<'YAML'
name: follow
run_dir: run
data: {directory: data, document_delimiter: line, train: {files: [text.txt]}, valid: {files: [text.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
model: {layers: 1, width: 32, heads: 2, max_length: 16}
batch: {sequences: 4}
schedule: {kind: constant}
train: {max_steps: 12}
evaluation: {every_steps: 6, max_sequences: 20}
checkpoint: {every_steps: 4}
log: {every_steps: 1}
YAML
"$weft" prepare job.yaml 2>/dev/null
"$weft" train job.yaml 2>/dev/null

cat >trackio.py <<'PYTHON'
import json, sys
class Run:
    def finish(self):
        print(json.dumps("finished"))
def init(project, name):
    print(json.dumps([project, name]))
    return Run()
def log(numbers, step):
    print(json.dumps([step, numbers]), flush=True)
PYTHON
cat >check.py <<'PYTHON'
import json, sys
sent = [json.loads(line) for line in open(sys.argv[1])]
assert sent[0] == ["weft", "run"] and sent[-1] == "finished", sent
expected, last, seen = [], -1, set()
for line in map(json.loads, open("run/metrics.jsonl")):
    numbers = {f"{line['event']}/{k}": v for k, v in line.items() if k not in ("attempt", "step") and type(v) in (int, float)}
    if numbers and line["step"] >= last and (line["event"], line["step"]) not in seen:
        last = line["step"]
        seen.add((line["event"], last))
        expected.append([last, numbers])
assert sent[1:-1] == expected, (sent, expected)
steps = [step for step, numbers in expected if "train/loss" in numbers]
assert steps == list(range(1, 13)), steps
PYTHON
# A later attempt repeats what a kill has undone.
head -n -9 run/metrics.jsonl >short
python3 - <<'PYTHON'
import json
lines = open("short").read().splitlines()
again = [dict(json.loads(line), attempt=1) for line in lines[-3:]]
rest = [json.loads(line) for line in open("run/metrics.jsonl").read().splitlines()[len(lines):]]
with open("run/metrics.jsonl", "w") as file:
    for line in lines + list(map(json.dumps, again)) + list(map(json.dumps, rest)):
        file.write(line + "\n")
    file.write('{"run":"x","attempt":1,"ev')
PYTHON
PYTHONPATH=. python3 -B "$sources/launch/follow_metrics.py" run --to trackio --once >sent
sed -i '$d' run/metrics.jsonl
python3 -B check.py sent || fail "what was sent is not what the run has measured"
echo "each number was sent once"
