#!/usr/bin/env python3
"""How long a step takes when many members train one model: a model of it, and what it says of runs on this machine.

    bench/scaling.py                                  the tables of docs/scaling.md: 8, 64 and 1,024 members
    bench/scaling.py --measure target/release/flambeau [--text FILE]
                                                      runs 1, 2 and 4 processes by mpirun, and holds the model to them
    bench/scaling.py --measure target/release/flambeau --links 100,1000
                                                      the same over links of so many Mbit/s each way: every process in a network
                                                      namespace of its own, behind a bridge (Linux, as root)

Standard library only. The model, for P parameters, n members and a link of B bytes a second in each direction:

    step        every step: each member sends and gets 2 (n - 1)/n * 4 P bytes, in 2 (n - 1) messages a part of 1 MB
    ring        the same bytes, in 2 (n - 1) rounds one after the other, each with the link's latency
    diloco      as step, but once in H steps
    int8        once in H steps: each member sends (n - 1) * P (1 + 4/256) bytes, as updates are gathered

    t(step)     = compute + bytes / B + 2 latency + messages * overhead + host * P
    host * P    = reading gradients back, adding up, and putting them on the device, in seconds a parameter
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

PART = 1 << 20  # bytes of one part of the gradients
MEMBERS = (8, 64, 1024)
INNER_STEPS = 100


@dataclass(frozen=True)
class Link:
    name: str
    bandwidth: float  # bytes a second, each way
    latency: float  # seconds


@dataclass(frozen=True)
class Work:
    name: str
    parameters: int
    compute: float  # seconds a step, one member, its batch
    host: float  # seconds a parameter for what the host does with it in a reduction


LINKS = (
    Link("100 Gbit/s, one room", 12.5e9, 5e-6),
    Link("10 Gbit/s", 1.25e9, 30e-6),
    Link("1 Gbit/s", 125e6, 100e-6),
    Link("20 Mbit/s upload, homes", 2.5e6, 20e-3),
)
# Compute: README, "Measured" (H200, 2026-11-16). Host: 4 bytes down and 4 up over PCIe at 20 GB/s, and 1 ns to add up.
WORKS = (
    Work("MLP 784-128-10, batch 32", 101_770, 80e-6, 1.4e-9),
    Work("GPT 10M, 16 x 256 tokens", 10_700_000, 10.5e-3, 1.4e-9),
    Work("ResNet-18, batch 128", 11_200_000, 15.6e-3, 1.4e-9),
)
# Of the processor, for a message.
OVERHEAD = 2e-6


def reduce_bytes(parameters, members):
    return 2 * (members - 1) / members * 4 * parameters


def int8_bytes(parameters, members):
    return (members - 1) * parameters * (1 + 4 / 256)


def reduce_seconds(work, members, link, rounds_in_turn=False):
    """One sum over all members."""
    sent = reduce_bytes(work.parameters, members)
    parts = -(-4 * work.parameters // PART)
    messages = 2 * (members - 1) * parts
    latency = 2 * (members - 1) * link.latency if rounds_in_turn else 2 * link.latency
    return sent / link.bandwidth + latency + messages * OVERHEAD + work.host * work.parameters


def int8_seconds(work, members, link):
    """One gathering of compressed updates; every member adds up all of them."""
    sent = int8_bytes(work.parameters, members)
    return sent / link.bandwidth + link.latency + (members - 1) * OVERHEAD + members * 1e-9 * work.parameters


def seconds(how, work, members, link):
    """Seconds a step, on average."""
    if how == "step":
        return work.compute + reduce_seconds(work, members, link)
    if how == "ring":
        return work.compute + reduce_seconds(work, members, link, rounds_in_turn=True)
    if how == "diloco":
        return work.compute + reduce_seconds(work, members, link) / INNER_STEPS
    return work.compute + int8_seconds(work, members, link) / INNER_STEPS


HOWS = ("step", "ring", "diloco", "int8")


def bytes_a_step(how, parameters, members):
    if how in ("step", "ring"):
        return reduce_bytes(parameters, members)
    each = reduce_bytes if how == "diloco" else int8_bytes
    return each(parameters, members) / INNER_STEPS


def print_model():
    for work in WORKS:
        print(f"\n### {work.name}: {work.parameters:,} parameters, {1e3 * work.compute:.3g} ms a step alone\n")
        print("| link | members | " + " | ".join(f"{how}, ms (share computing)" for how in HOWS) + " |")
        print("|---|---|" + "---|" * len(HOWS))
        for link in LINKS:
            for members in MEMBERS:
                cells = []
                for how in HOWS:
                    time = seconds(how, work, members, link)
                    cells.append(f"{1e3 * time:.3g} ({100 * work.compute / time:.0f} %)")
                print(f"| {link.name} | {members:,} | " + " | ".join(cells) + " |")
    print("\n### Bytes that a member sends a step, per parameter\n")
    print("| members | " + " | ".join(HOWS) + " |")
    print("|---|" + "---|" * len(HOWS))
    for members in (2, 4, *MEMBERS):
        print(f"| {members:,} | " + " | ".join(f"{bytes_a_step(how, 1, members):.3g}" for how in HOWS) + " |")


class Hosts:
    """Network namespaces joined by a bridge: hosts of a network, each of which sends at most so many bits a second."""

    NAME = "flambeau-host"
    BRIDGE = "flambeau-bridge"

    def __init__(self, count, megabits):
        self.count, self.megabits = count, megabits

    def __enter__(self):
        self.__exit__()
        run("ip", "netns", "add", self.BRIDGE)
        self.inside(self.BRIDGE, "ip", "link", "add", "bridge", "type", "bridge")
        self.inside(self.BRIDGE, "ip", "link", "set", "bridge", "up")
        for host in range(self.count):
            name = f"{self.NAME}{host}"
            run("ip", "netns", "add", name)
            ends = ("name", "uplink", "netns", name, "type", "veth", "peer", "name", f"port{host}", "netns", self.BRIDGE)
            run("ip", "link", "add", *ends)
            self.inside(self.BRIDGE, "ip", "link", "set", f"port{host}", "master", "bridge", "up")
            self.inside(name, "ip", "addr", "add", f"10.77.0.{host + 1}/24", "dev", "uplink")
            self.inside(name, "ip", "link", "set", "uplink", "up")
            self.inside(name, "ip", "link", "set", "lo", "up")
            # What a host sends is shaped where it leaves it, what it gets where it leaves the bridge.
            shape = ("root", "tbf", "rate", f"{self.megabits}mbit", "burst", "128kb", "latency", "400ms")
            self.inside(name, "tc", "qdisc", "add", "dev", "uplink", *shape)
            self.inside(self.BRIDGE, "tc", "qdisc", "add", "dev", f"port{host}", *shape)
        return self

    def __exit__(self, *_):
        for name in [self.BRIDGE, *(f"{self.NAME}{host}" for host in range(self.count))]:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)

    @staticmethod
    def inside(namespace, *command):
        run("ip", "netns", "exec", namespace, *command)

    def mpirun(self, folder):
        """The beginning of a command that starts a process on each."""
        agent = os.path.join(folder, "agent.sh")
        with open(agent, "w") as file:
            # What mpirun takes for a remote shell: the first argument is the host's address.
            file.write(f'#!/bin/sh\nhost="{self.NAME}$((${{1##*.}} - 1))"\nshift\nexec ip netns exec "$host" sh -c "$*"\n')
        os.chmod(agent, 0o755)
        hosts = ",".join(f"10.77.0.{host + 1}:1" for host in range(self.count))
        network = ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24"]
        start = ["ip", "netns", "exec", f"{self.NAME}0", "mpirun", "--host", hosts, "--map-by", "node", "--bind-to", "none"]
        variables = ["-x", "RAYON_NUM_THREADS"]
        return [*start, "--mca", "plm_rsh_agent", agent, "--mca", "pml", "ob1", *network, *variables]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")


def train(program, folder, members, options, hosts=None):
    """The JSON of a run by so many processes (0: alone, without a group)."""
    command = [program, "--json", "--device", "cpu", "train", *options, "--out", os.path.join(folder, "run")]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # Ranks share the cores, as threads of one process do: each gets its part.
    environment["RAYON_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // max(1, members)))
    if members:
        start = hosts.mpirun(folder) if hosts else ["mpirun", "--oversubscribe"]
        command = [*start, "-np", str(members), *command, "--group", "mpi"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def print_measured(program, text, steps):
    """Runs with one global batch on one machine: all members share its cores, so computing takes as long in all as alone."""
    runs = [("MNIST, mlp", ["mnist", "--model", "mlp", "--max-steps", str(steps)])]
    if text:
        runs.append(("char-gpt, gpt-tiny", ["char-gpt", "--model", "gpt-tiny", "--data", text, "--dropout", "0", "--max-steps", str(steps // 4)]))
    print("| run | members | how | train loss | test loss | test accuracy | ms a step | bytes a step | model's bytes |"
          " reducing, ms a step | of it waiting |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, options in runs:
        for members, how in ((0, "step"), (2, "step"), (4, "step"), (2, "diloco"), (4, "diloco"), (4, "int8")):
            more = [] if how == "step" else ["--sync", f"diloco:{INNER_STEPS}"]
            more += ["--compress", "int8"] if how == "int8" else []
            with tempfile.TemporaryDirectory() as folder:
                result = train(program, folder, members, options + more)
            group = result["group"] or {"bytes_per_step": 0, "by_rank": [{"seconds_reducing": 0, "seconds_waiting": 0}]}
            reducing = max(member["seconds_reducing"] for member in group["by_rank"]) / result["steps"]
            waiting = max(member["seconds_waiting"] for member in group["by_rank"]) / result["steps"]
            model = bytes_a_step(how, result["parameters"], members) if members else 0
            print(
                f"| {name} | {max(members, 1)} | {how if members else 'alone'} | {result['train_loss']:.6f} |"
                f" {result['test_loss']:.6f} |"
                f" {100 * result['test_accuracy']:.2f} % | {1e3 * result['seconds'] / result['steps']:.2f} |"
                f" {group['bytes_per_step']:,.0f} | {model:,.0f} | {1e3 * reducing:.2f} | {1e3 * waiting:.2f} |",
                flush=True,
            )


def print_links(program, steps, speeds):
    """Runs of the MLP over links of known speed, beside what the model says of them. Computing is taken from runs of as many members in
    one memory, which share the cores as these do, less what the model says of reducing there."""
    print("| link, Mbit/s | members | how | ms a step | the model's | bytes a step |")
    print("|---|---|---|---|---|---|")
    options = ["mnist", "--model", "mlp", "--max-steps", str(steps)]
    for members in (2, 4):
        for how in ("step", "diloco", "int8"):
            more = [] if how == "step" else ["--sync", "diloco:10"]
            more += ["--compress", "int8"] if how == "int8" else []
            with tempfile.TemporaryDirectory() as folder:
                together = train(program, folder, members, options + more)
            near = 1e3 * together["seconds"] / together["steps"]
            for megabits in speeds:
                with tempfile.TemporaryDirectory() as folder, Hosts(members, megabits) as hosts:
                    result = train(program, folder, members, options + more, hosts)
                sent = (int8_bytes if how == "int8" else reduce_bytes)(result["parameters"], members)
                predicted = near + 1e3 * sent / (megabits * 1e6 / 8) / (1 if how == "step" else 10)
                print(
                    f"| {megabits:g} | {members} | {how} | {1e3 * result['seconds'] / result['steps']:.1f} | {predicted:.1f} |"
                    f" {result['group']['bytes_per_step']:,.0f} |",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", metavar="PROGRAM", help="a flambeau that was built with the feature mpi")
    parser.add_argument("--text", metavar="FILE", help="a text for char-gpt")
    parser.add_argument("--steps", type=int, default=400, help="steps of MNIST (char-gpt: a quarter)")
    parser.add_argument("--links", metavar="MBITS", help="speeds of links to measure over, e.g. 100,1000 (Linux, as root)")
    arguments = parser.parse_args()
    if arguments.measure and arguments.links:
        speeds = [float(speed) for speed in arguments.links.split(",")]
        print_links(os.path.abspath(arguments.measure), arguments.steps, speeds)
    elif arguments.measure:
        print_measured(os.path.abspath(arguments.measure), arguments.text, arguments.steps)
    else:
        print_model()


if __name__ == "__main__":
    main()
