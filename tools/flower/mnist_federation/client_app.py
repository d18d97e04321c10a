"""Flower's own client, run by `flower-supernode`, with NumPy alone: what clients of Flambeau are compared with."""

import time

from flwr.app import ArrayRecord, Array, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from . import mnist

app = ClientApp()
cache = {}


def data(context):
    """This node's share, read once."""
    config, node = context.run_config, context.node_config
    key = (node["partition-id"], node["num-partitions"])
    if key not in cache:
        x, y = mnist.read(config["data"], "train")
        places = mnist.share(y, *key, config["non-iid"])
        if config["first"]:
            places = places[: config["first"]]
        cache[key] = (x[places], y[places], *mnist.read(config["data"], "t10k"))
    return cache[key]


@app.train()
def train(message, context):
    began = time.monotonic()
    config = message.content["config"]
    x, y, _, _ = data(context)
    parameters = {name: array.numpy() for name, array in message.content["arrays"].items()}
    parameters, loss = mnist.train(
        parameters, x, y, config["local-epochs"], config["batch-size"], config["lr"], config.get("proximal-mu", 0.0)
    )
    metrics = {"num-examples": len(y), "train_loss": loss, "seconds": time.monotonic() - began}
    content = {
        "arrays": ArrayRecord({name: Array(value) for name, value in parameters.items()}),
        "metrics": MetricRecord(metrics),
    }
    return Message(RecordDict(content), reply_to=message)


@app.evaluate()
def evaluate(message, context):
    _, _, x, y = data(context)
    part = slice(context.node_config["partition-id"], None, context.node_config["num-partitions"])
    parameters = {name: array.numpy() for name, array in message.content["arrays"].items()}
    loss, accuracy = mnist.judge(parameters, x[part], y[part])
    metrics = {"num-examples": len(y[part]), "eval_loss": loss, "eval_acc": accuracy}
    return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)
