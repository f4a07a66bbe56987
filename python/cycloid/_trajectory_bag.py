"""Trajectories as bags of ROS 1 (.bag), by the package rosbags.

Topics "/states" and "/inputs" (std_msgs/Float64MultiArray; the blocks are the labels of the
layout), and the whole run as one message of bytes on "/cycloid/run", from which it is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cycloid._core import Error
from cycloid._extras import missing
from cycloid._rollout import Trajectory
from cycloid._trajectory_formats import DAMAGE, Contents, npz_bytes, read_npz, topics_of

_RUN = "/cycloid/run"
_NUMBERS, _BYTES = "std_msgs/msg/Float64MultiArray", "std_msgs/msg/UInt8MultiArray"


def _rosbags() -> tuple[Any, Any]:
    """The package's bags, and the messages of ROS."""
    try:
        from rosbags import rosbag1
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise missing("rosbags", "cycloid[ros]") from None
    return rosbag1, get_typestore(Stores.ROS1_NOETIC)


def write_bag(run: Trajectory, contents: Contents, path: Path) -> None:
    """Raises Error for a batch."""
    rosbag1, messages = _rosbags()
    topics = topics_of(run)

    def put(connection: Any, moment: int, blocks: list[tuple[str, int]], data: Any) -> None:
        kind, about = connection.msgtype, messages.types["std_msgs/msg/MultiArrayDimension"]
        dims = [about(label=name, size=size, stride=size) for name, size in blocks]
        layout = messages.types["std_msgs/msg/MultiArrayLayout"](dim=dims, data_offset=0)
        message = messages.types[kind](layout=layout, data=data)
        bag.write(connection, moment, messages.serialize_ros1(message, kind))

    path.unlink(missing_ok=True)
    with rosbag1.Writer(path) as bag:
        whole = np.frombuffer(npz_bytes(contents), np.uint8)
        connection = bag.add_connection(_RUN, _BYTES, typestore=messages)
        put(connection, 0, [("run.npz", whole.size)], whole)
        for topic, slices, rows in topics:
            blocks = [(name, own.stop - own.start) for name, own in slices.items()]
            connection = bag.add_connection(topic, _NUMBERS, typestore=messages)
            for t, row in zip(run.times, rows, strict=True):
                row = np.asarray(row, np.float64)
                put(connection, round(1e9 * float(t)), blocks, row)


def read_bag(path: Path) -> Contents:
    rosbag1, messages = _rosbags()
    try:
        with rosbag1.Reader(path) as bag:
            wanted = [c for c in bag.connections if c.topic == _RUN and c.msgtype == _BYTES]
            found = list(bag.messages(connections=wanted)) if wanted else []
            kept = [messages.deserialize_ros1(raw, _BYTES).data for _, _, raw in found]
    except (rosbag1.ReaderError, AssertionError, *DAMAGE) as error:
        what = str(error) or type(error).__name__
        raise Error(f"it is damaged, or no recording of cycloid: {what}") from None
    if not kept:
        raise Error(f"it has no message on {_RUN}: no recording of cycloid")
    return read_npz(np.asarray(kept[0]).tobytes())
