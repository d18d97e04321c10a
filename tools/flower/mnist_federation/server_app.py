"""The server's side: a strategy of Flower's, and what came of it as JSON."""

import json
import time
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord
from flwr.server.compat.app import start_grid
from flwr.server import ServerConfig
from flwr.server.strategy import FedAvg as LegacyFedAvg
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx, FedTrimmedAvg

from . import mnist

app = ServerApp()


def strategy(config):
    """The strategy of that name, for so many clients, all of which take part in every round."""
    nodes = config["nodes"]
    everybody = {"min_train_nodes": nodes, "min_evaluate_nodes": nodes, "min_available_nodes": nodes}
    match config["strategy"]:
        case "fedavg":
            return FedAvg(**everybody)
        case "fedprox":
            return FedProx(**everybody, proximal_mu=config["proximal-mu"])
        case "fedadam":
            return FedAdam(**everybody, eta=0.01)
        case "fedtrimmedavg":
            return FedTrimmedAvg(**everybody, beta=0.25)
    raise ValueError(f"no strategy {config['strategy']!r}")


def simulate(config, parameters):
    """The same rounds of FedAvg or FedProx without clients or a network."""
    x, y = mnist.read(config["data"], "train")
    places = [mnist.share(y, member, config["nodes"], config["non-iid"]) for member in range(config["nodes"])]
    if config["first"]:
        places = [place[: config["first"]] for place in places]
    mu = config["proximal-mu"] if config["strategy"] == "fedprox" else 0.0
    for _ in range(config["rounds"]):
        total = sum(len(place) for place in places)
        mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        for place in places:
            new, _ = mnist.train(
                parameters, x[place], y[place], config["local-epochs"], config["batch-size"], config["lr"], mu
            )
            for name, value in new.items():
                mean[name] += value * np.float32(len(place) / total)
        parameters = mean
    return parameters


@app.main()
def main(grid, context):
    config = context.run_config
    test = mnist.read(config["data"], "t10k")
    began = time.monotonic()
    rounds = []

    def judged(number, parameters):
        loss, accuracy = mnist.judge(parameters, *test)
        rounds.append({"round": number, "loss": loss, "accuracy": accuracy, "seconds": time.monotonic() - began})
        return loss, accuracy

    first = mnist.first_parameters(config["hidden"], config["seed"])
    settings = {"lr": config["lr"], "local-epochs": config["local-epochs"], "batch-size": config["batch-size"]}
    clients = {}
    if config["strategy"] == "legacy-fedavg":
        last = legacy(grid, config, settings, judged)
    else:

        def evaluate(number, arrays):
            loss, accuracy = judged(number, {name: array.numpy() for name, array in arrays.items()})
            return MetricRecord({"loss": loss, "accuracy": accuracy})

        result = strategy(config).start(
            grid=grid,
            initial_arrays=ArrayRecord({name: Array(value) for name, value in first.items()}),
            num_rounds=config["rounds"],
            train_config=ConfigRecord(settings),
            evaluate_fn=evaluate,
        )
        last = {name: array.numpy() for name, array in result.arrays.items()}
        clients = {
            "train": [dict(record) for record in result.train_metrics_clientapp.values()],
            "evaluate": [dict(record) for record in result.evaluate_metrics_clientapp.values()],
        }
    report = {"strategy": config["strategy"], "nodes": config["nodes"], "rounds": rounds, "clients": clients}
    if config["simulate"]:
        again = simulate(config, first)
        report["largest_difference"] = max(float(np.abs(last[name] - again[name]).max()) for name in again)
        report["largest_parameter"] = max(float(np.abs(value).max()) for value in again.values())
        report["simulated_accuracy"] = mnist.judge(again, *test)[1]
    # In one go: whoever waits for the file finds it whole.
    out = Path(config["out"])
    beside = out.with_suffix(".part")
    beside.write_text(json.dumps(report))
    beside.rename(out)


def legacy(grid, config, settings, judged):
    """Flower's older strategies: parameters without names, which the first come from one of the clients."""
    nodes = config["nodes"]
    seen = {}

    def evaluate(number, arrays, _):
        names = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")
        seen["last"] = dict(zip(names, arrays, strict=True))
        loss, accuracy = judged(number, seen["last"])
        return loss, {"accuracy": accuracy}

    older = LegacyFedAvg(
        min_fit_clients=nodes,
        min_evaluate_clients=nodes,
        min_available_clients=nodes,
        on_fit_config_fn=lambda number: dict(settings),
        evaluate_fn=evaluate,
    )
    start_grid(grid=grid, config=ServerConfig(num_rounds=config["rounds"]), strategy=older)
    return seen["last"]
