"""The ROS nodes of FlightGoggles: topics, parameters and special cases, with or without ROS.

The logic of each node is a class without middleware, `Uav` or `Car`; `Node` runs several of them on
one clock. `python -m propwash ros` connects them to ROS.
"""

from __future__ import annotations
