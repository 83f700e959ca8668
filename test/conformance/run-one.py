"""Runs one test of Paho's suite: run-one.py MODULE HOST PORT TEST. The suite's own main takes no port for one test."""

import importlib
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "paho"))
name, host, port, test = sys.argv[1:]
module = importlib.import_module(name)
module.host, module.port = host, int(port)
module.topics = ("TopicA", "TopicA/B", "Topic/C", "TopicA/C", "/TopicA")
module.wildtopics = ("TopicA/+", "+/C", "#", "/#", "/+", "+/+", "TopicA/#")
module.nosubscribe_topics = ("test/nosubscribe",)
unittest.main(module=module, argv=[name, "Test." + test])
