"""What Flower 1.41.0 and dp-accounting 0.6 give, for the tests of crates/flambeau-flower:

    python3 tools/reference/flower.py        # in an environment with flwr==1.41.0 and dp-accounting==0.6.0

`objects.json`: messages as Flower's object store has them, byte by byte. `older.json`: the records of the older API.
`signature.json`: a signed time. `dp_accounting.json`: epsilons of the sampled Gaussian mechanism.
"""

import base64
import logging
import itertools
import json
from pathlib import Path

import dp_accounting
import numpy as np
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from dp_accounting.rdp import RdpAccountant, rdp_privacy_accountant
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.app.metadata import Metadata
from flwr.common.serde import message_to_proto
from flwr.compat.common import recorddict_compat, typing
from flwr.proto import fleet_pb2, heartbeat_pb2, message_pb2, node_pb2, run_pb2
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.primitives.asymmetric import public_key_to_bytes, sign_message
from scipy import integrate

DATA = Path(__file__).parents[2] / "crates/flambeau-flower/tests/data"


def write(name, value):
    (DATA / name).write_text(json.dumps(value, indent=1) + "\n")


def text(content):
    return base64.b64encode(content).decode()


def metadata(kind="train", **more):
    settings = {
        "run_id": 2**64 - 5,
        "message_id": "",
        "src_node_id": 1,
        "dst_node_id": 12345678901234567890,
        "reply_to_message_id": "",
        "group_id": "3",
        "created_at": 1763565902.25,
        "ttl": 43200.0,
        "message_type": kind,
    }
    return Metadata(**(settings | more))


def stored(message):
    """The message as announced, its tree and its objects."""
    objects = {name: text(item.deflate()) for name, item in get_all_nested_objects(message).items()}
    message.metadata.__dict__["_message_id"] = message.object_id
    announced = message_to_proto(message)
    if message.has_content():
        announced.content.Clear()
        announced.content.SetInParent()
    return {
        "name": message.object_id,
        "announced": text(announced.SerializeToString(deterministic=True)),
        "tree": text(get_object_tree(message).SerializeToString(deterministic=True)),
        "objects": objects,
    }


def message(content, kind="train", **more):
    # Flower has no public way to make a message with given metadata; this is what its own code calls.
    if isinstance(content, Error):
        return Message(error=content, metadata=metadata(kind, **more))
    return Message(content=content, metadata=metadata(kind, **more))


def objects():
    arrays = {
        "fc1.weight": Array(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "größe": Array(np.array(7, dtype=np.int64)),
        "again": Array(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "none": Array(np.zeros((0, 4), dtype=np.float64)),
        "older": Array(dtype="", shape=(), stype="numpy.ndarray", data=b""),
    }
    everything = RecordDict(
        {
            "arrays": ArrayRecord(arrays),
            "metrics": MetricRecord({"num-examples": 15000, "loss": -0.25, "all": [1, -2, 3], "means": [0.5, 1e300]}),
            "config": ConfigRecord(
                {
                    "server-round": 3,
                    "large": 2**64 - 1,
                    "negative": -(2**63),
                    "lr": 0.1,
                    "yes": True,
                    "text": "ä \"quoted\"",
                    "bytes": b"\x00\xff",
                    "texts": ["a", ""],
                    "flags": [True, False],
                    "parts": [b"", b"x"],
                    "empty": [],
                }
            ),
            "same": ConfigRecord({}),
            "same again": ConfigRecord({}),
        }
    )
    # Two chunks of one array that are equal, and a rest: 5 MiB of zeros each. Only names are kept: the bytes are known.
    large = Array(dtype="float32", shape=(2621450,), stype="numpy.ndarray", data=bytes(2 * 5242880 + 40))
    many = stored(message(RecordDict({"arrays": ArrayRecord({"zeros": large})})))
    write(
        "objects.json",
        {
            "everything": stored(message(everything, src_task_id=7)),
            "error": stored(message(Error(code=2, reason="it did not work"), "evaluate")),
            "empty": stored(message(RecordDict(), "query")),
            "large": {"name": many["name"], "tree": many["tree"], "objects": sorted(many["objects"])},
            "requests": {name: text(request.SerializeToString(deterministic=True)) for name, request in requests()},
        },
    )


def requests():
    node = node_pb2.Node(node_id=2**63 + 1)
    tree = message_pb2.ObjectTree(object_id="b", children=[message_pb2.ObjectTree(object_id="a")])
    announced = message_to_proto(message(Error(code=-1, reason="r"), "evaluate"))
    yield "register-node", fleet_pb2.RegisterNodeFleetRequest(public_key=b"pem")
    yield "activate-node", fleet_pb2.ActivateNodeRequest(public_key=b"pem", heartbeat_interval=30)
    yield "deactivate-node", fleet_pb2.DeactivateNodeRequest(node_id=9)
    yield "send-node-heartbeat", heartbeat_pb2.SendNodeHeartbeatRequest(node=node, heartbeat_interval=30)
    yield "get-run", run_pb2.GetRunRequest(node=node, run_id=5)
    yield "pull-messages", fleet_pb2.PullMessagesRequest(node=node)
    yield "pull-messages answer", fleet_pb2.PullMessagesResponse(
        reconnect=fleet_pb2.Reconnect(reconnect=5), messages_list=[announced], message_object_trees=[tree]
    )
    yield "push-messages", fleet_pb2.PushMessagesRequest(
        node=node, messages_list=[announced], message_object_trees=[tree], clientapp_runtime_list=[1.5]
    )
    yield "push-messages answer", fleet_pb2.PushMessagesResponse(
        results={"m": 0}, objects_to_push=["a", "b"], session_id="s"
    )
    yield "pull-object", message_pb2.PullObjectRequest(node=node, run_id=5, object_id="a")
    yield "pull-object answer", message_pb2.PullObjectResponse(
        object_found=True, object_available=True, object_content=b"abc"
    )
    yield "push-object", message_pb2.PushObjectRequest(
        node=node, run_id=5, object_id="a", object_content=b"abc", session_id="s"
    )
    yield "push-object answer", message_pb2.PushObjectResponse(stored=True)
    yield "confirm-message-received", message_pb2.ConfirmMessageReceivedRequest(
        node=node, run_id=5, message_object_id="b"
    )


def older():
    """What the older API's strategies send, and what a client's answers are read as."""
    weights = [np.array([[1.0, 2.0]], dtype=np.float32), np.array([3.0], dtype=np.float32)]
    as_bytes = [Array(weight).data for weight in weights]
    parameters = typing.Parameters(tensors=as_bytes, tensor_type="numpy.ndarray")
    fit = typing.FitIns(parameters, {"lr": 0.1, "local-epochs": 2, "name": "x", "flag": True})
    evaluate = typing.EvaluateIns(parameters, {})
    compat = recorddict_compat
    status = typing.Status(typing.Code.OK, "Success")
    fit_res = typing.FitRes(status, parameters, 15000, {"loss": 0.5})
    evaluate_res = typing.EvaluateRes(status, 0.25, 100, {"accuracy": 0.75})
    get_res = typing.GetParametersRes(status, parameters)
    write(
        "older.json",
        {
            "fit": stored(message(compat.fitins_to_recorddict(fit, True))),
            "evaluate": stored(message(compat.evaluateins_to_recorddict(evaluate, True), "evaluate")),
            "get_parameters": stored(
                message(
                    compat.getparametersins_to_recorddict(typing.GetParametersIns({})), "get_parameters"
                )
            ),
            "fit answer": stored(message(compat.fitres_to_recorddict(fit_res, True))),
            "evaluate answer": stored(message(compat.evaluateres_to_recorddict(evaluate_res), "evaluate")),
            "get_parameters answer": stored(
                message(compat.getparametersres_to_recorddict(get_res, True), "get_parameters")
            ),
        },
    )


def signature():
    key = ec.derive_private_key(int.from_bytes(bytes(range(1, 49)), "big"), ec.SECP384R1())
    time = "2025-11-19T15:25:02.123456+00:00"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write(
        "signature.json",
        {
            "private": private.decode(),
            "public": public_key_to_bytes(key.public_key()).decode(),
            "time": time,
            "signature": text(sign_message(key, time.encode())),
        },
    )


def divergence(sampling, multiplier, order):
    """A(order) of crates/flambeau-flower/src/privacy/accountant.rs by SciPy's adaptive quadrature, as a divergence."""
    if sampling == 1:
        return order / (2 * multiplier**2)

    def log_integrand(x):
        mixture = np.logaddexp(np.log1p(-sampling), np.log(sampling) + (2 * x - 1) / (2 * multiplier**2))
        return order * mixture - x**2 / (2 * multiplier**2)

    # Around its two heights, 0 and the order.
    ends = np.unique(np.concatenate([multiplier * np.arange(-14, 15), order + multiplier * np.arange(-14, 15)]))
    largest = log_integrand(ends).max()
    total = sum(
        integrate.quad(lambda x: np.exp(log_integrand(x) - largest), begin, end, epsabs=0, epsrel=1e-12)[0]
        for begin, end in itertools.pairwise(ends)
    )
    return (np.log(total / (multiplier * np.sqrt(2 * np.pi))) + largest) / (order - 1)


def exact(sampling, multiplier, count, delta):
    orders = np.array(rdp_privacy_accountant.DEFAULT_RDP_ORDERS)
    divergences = count * np.array([divergence(sampling, multiplier, order) for order in orders])
    return rdp_privacy_accountant.compute_epsilon(orders, np.maximum(divergences, 0), delta)[0]


def epsilons():
    rows = []
    cases = itertools.product([1.0, 0.5, 0.1, 0.01, 0.001], [0.3, 0.7, 1.0, 2.0, 8.0], [1, 100], [1e-3, 1e-6])
    for sampling, multiplier, count, delta in cases:
        event = dp_accounting.GaussianDpEvent(multiplier)
        if sampling < 1:
            event = dp_accounting.PoissonSampledDpEvent(sampling, event)
        # At whole orders the divergence is a finite sum, which is exact; at others, a series that is not.
        whole = RdpAccountant([order for order in rdp_privacy_accountant.DEFAULT_RDP_ORDERS if order == int(order)])
        accountant = RdpAccountant()
        accountant.compose(event, count)
        whole.compose(event, count)
        rows.append(
            {
                "sampling": sampling,
                "multiplier": multiplier,
                "count": count,
                "delta": delta,
                "epsilon": accountant.get_epsilon(delta),
                "whole": whole.get_epsilon(delta),
                # The same conversion of divergences by quadrature.
                "exact": float(exact(sampling, multiplier, count, delta)),
                # Where its series did not converge, dp-accounting leaves an order out.
                "left_out": int(np.isinf(accountant._rdp).sum()),
            }
        )
    write("dp_accounting.json", rows)


if __name__ == "__main__":
    logging.getLogger("absl").setLevel(logging.ERROR)
    objects()
    older()
    signature()
    epsilons()
