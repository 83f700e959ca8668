"""paho-mqtt as a program: paho_client.py publish|subscribe OPTIONS, where the options are one JSON object."""

import json
import signal
import sys

from paho.mqtt import client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

verb, options = sys.argv[1], json.loads(sys.argv[2])
is_5 = options["version"] == 5
lasting = options.get("lasting", False)
client = mqtt.Client(
    mqtt.CallbackAPIVersion.VERSION2,
    client_id=options["id"],
    protocol=mqtt.MQTTv5 if is_5 else mqtt.MQTTv311,
    clean_session=None if is_5 else not lasting,
)
client.username_pw_set(options["username"], options["password"])


def connected(client, userdata, flags, reason, properties):
    if reason.is_failure:
        sys.exit(f"refused: {reason}")
    if verb == "subscribe":
        client.subscribe(options["topic"], qos=2)
    else:
        client.publish(options["topic"], options["payload"], options["qos"], options.get("retain", False))


def arrived(client, userdata, message):
    print(message.qos, int(message.retain), message.payload.decode())


client.on_connect = connected
client.on_message = arrived
client.on_subscribe = lambda *_: print("Subscribed ()")
if verb == "publish":
    client.on_publish = lambda *_: client.disconnect()
if will := options.get("will"):
    client.will_set(will["topic"], will["payload"], will["qos"])
signal.signal(signal.SIGTERM, lambda *_: client.disconnect())

how = {}
if is_5:
    how["clean_start"] = not lasting
    if lasting:
        how["properties"] = Properties(PacketTypes.CONNECT)
        how["properties"].SessionExpiryInterval = 60
client.connect("127.0.0.1", options["port"], **how)
client.loop_forever(timeout=0.1)
