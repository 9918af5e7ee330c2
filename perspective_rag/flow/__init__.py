"""Flows, and the driver that carries out their calls in threads or on an event loop."""
