#!/usr/bin/env bash
# CIFAR-10 with ResNet-18 by one recipe: Flambeau's program and PyTorch one after the other on this machine, three seeds each.
#
# Usage: bench/cifar10.sh FOLDER [--amp]
#
# FOLDER has the .bin files that `flambeau data fetch cifar10` writes. One JSON object a line comes out, first Flambeau's, then
# PyTorch's (bench/peers/cifar10.py); what they say on the way goes to stderr. Environment variables choose: FLAMBEAU (the program;
# built when absent), DEVICE (gpu), PYTHON (python3), SEEDS ("1 2 3"), TORCH_OPTIONS (e.g. "--channels-last --graph"),
# TRAIN_OPTIONS (e.g. "--epochs 2", for both).
set -euo pipefail

folder=${1:?the folder with the .bin files}
shift
here=$(cd "$(dirname "$0")" && pwd)
device=${DEVICE:-gpu}
seeds=${SEEDS:-1 2 3}
options=("$@")
read -ra both <<<"${TRAIN_OPTIONS:-}"
read -ra torch <<<"${TORCH_OPTIONS:-}"

program=${FLAMBEAU:-}
if [[ -z $program ]]; then
    cargo build --release -p flambeau-cli --manifest-path "$here/../Cargo.toml" >&2
    program=$here/../target/release/flambeau
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for seed in $seeds; do
    "$program" --device "$device" --json train cifar10 --recipe resnet18 --seed "$seed" --data "$folder" --out "$out/$seed" \
        "${both[@]}" "${options[@]}"
done
"${PYTHON:-python3}" "$here/peers/cifar10.py" "$folder" --seeds "${seeds// /,}" "${torch[@]}" "${both[@]}" "${options[@]}"
