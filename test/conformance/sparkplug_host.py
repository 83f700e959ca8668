"""A Sparkplug host by pysparkplug: sparkplug_host.py PORT. Prints each message of the node as one line of JSON, and commands once."""

import json
import sys
import time

from pysparkplug import (
    Client,
    DataType,
    DCmd,
    Message,
    MessageType,
    Metric,
    NCmd,
    QoS,
    Topic,
    get_current_timestamp,
)

GROUP, NODE, DEVICE = "greenhouses", "greenhouse2mqtt", "gh-0001"


def told(client, message):
    metrics = getattr(message.payload, "metrics", ())
    values = {m.name: m.value for m in metrics}
    verb = message.topic.message_type.name
    print(json.dumps({"verb": verb, "device": message.topic.device_id, "values": values}, default=str), flush=True)
    if verb == "DBIRTH" and not asked:
        asked.append(True)
        write(client, MessageType.DCMD, DCmd, "actuator/roof/command", DataType.STRING, "open", DEVICE)
        write(client, MessageType.NCMD, NCmd, "Node Control/Rebirth", DataType.BOOLEAN, True, None)


def write(client, verb, payload, name, datatype, value, device):
    now = get_current_timestamp()
    metric = Metric(timestamp=now, name=name, datatype=datatype, value=value)
    topic = Topic(message_type=verb, group_id=GROUP, edge_node_id=NODE, device_id=device)
    message = Message(topic=topic, payload=payload(timestamp=now, metrics=(metric,)), qos=QoS.AT_MOST_ONCE, retain=False)
    client.publish(message, include_dtypes=True)


asked = []
client = Client(client_id="pysparkplug-host")
for verb in (MessageType.NBIRTH, MessageType.NDATA, MessageType.NDEATH):
    client.subscribe(Topic(message_type=verb, group_id=GROUP, edge_node_id=NODE), QoS.AT_MOST_ONCE, told)
for verb in (MessageType.DBIRTH, MessageType.DDATA, MessageType.DDEATH):
    topic = Topic(message_type=verb, group_id=GROUP, edge_node_id=NODE, device_id="+")
    client.subscribe(topic, QoS.AT_MOST_ONCE, told)
client.connect("127.0.0.1", port=int(sys.argv[1]), callback=lambda _: print('{"verb": "connected"}', flush=True))
while True:
    time.sleep(1)
