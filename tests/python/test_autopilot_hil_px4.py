"""The real PX4 in its HIL mode, over UDP and a serial port.

PROPWASH_PX4 names a program with lock step, PROPWASH_PX4_HIL one without (px4_sitl_nolockstep).
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

import pytest

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from autopilot_hil_flight import HilFlight
from autopilot_programs import standard_flight
from propwash.autopilot import Home
from pymavlink.dialects.v20 import common as mavlink

pytestmark = pytest.mark.slow
_FIRST_INTERVAL = 2.0**32 * 1e-6
"""s: a PX4 without lock step whose clock began later takes all of it for its first interval."""


@pytest.mark.skipif("PROPWASH_PX4_HIL" not in os.environ, reason="PROPWASH_PX4_HIL is not set")
@pytest.mark.parametrize("link", ["udp", "serial"])
def test_px4_flies_in_hil_mode(link: Literal["udp", "serial"], tmp_path: Path) -> None:
    """Arms, takes off, holds, flies north and lands, all by the wall clock."""
    if time.monotonic() < _FIRST_INTERVAL:
        pytest.skip("PX4's estimator starts on a computer that has run for 72 minutes")
    binary = Path(os.environ["PROPWASH_PX4_HIL"]).resolve()
    with HilFlight(binary, "crazyflie", tmp_path, link=link, lockstep=False) as flight:
        measured = standard_flight(flight)
        codec, statistics = flight.codec, flight.loop.statistics
    detail = f"{measured}; {flight.messages[-5:]}; {statistics}\n{codec.statistics()}"
    print(detail)
    assert measured.landed, detail
    assert measured.horizontal < 0.5, detail
    assert measured.vertical < 0.5, detail
    assert measured.height == pytest.approx(3.0, abs=1.0), detail
    assert measured.yaw_rate < 0.3, detail
    assert measured.north < 0.8, detail
    assert not codec.refused.counts
    assert statistics.restarts == 0, detail
    assert codec.interval.quantile(0.5) == pytest.approx(0.005, abs=0.002), detail


@pytest.mark.skipif("PROPWASH_PX4" not in os.environ, reason="PROPWASH_PX4 is not set")
@pytest.mark.parametrize("link", ["udp", "serial"])
def test_px4_receives_the_sensors_and_sends_outputs(
    link: Literal["udp", "serial"], tmp_path: Path
) -> None:
    """It does not arm: the module that sets the clock of this build claims the first gyroscope."""
    binary = Path(os.environ["PROPWASH_PX4"]).resolve()
    with HilFlight(binary, "crazyflie", tmp_path, link=link) as flight:
        found = flight.received
        interval = mavlink.MAV_CMD_SET_MESSAGE_INTERVAL
        idents = mavlink.MAVLINK_MSG_ID_GPS_RAW_INT, mavlink.MAVLINK_MSG_ID_SCALED_PRESSURE

        def ask() -> None:
            for ident in idents:
                flight.command(interval, ident, 1e5)

        assert flight.until(lambda: "HEARTBEAT" in found, 60.0)
        assert flight.until(lambda: {"GPS_RAW_INT", "SCALED_PRESSURE"} <= found.keys(), 60.0, ask)
        assert flight.until(lambda: flight.codec.age.count > 400, 60.0)
        codec, reports = flight.codec, flight.reports
    fix, air = found["GPS_RAW_INT"], found["SCALED_PRESSURE"]
    assert fix.fix_type == 3
    assert fix.lat == pytest.approx(1e7 * Home().latitude_deg, abs=500)
    assert air.press_abs == pytest.approx(1013.25, abs=3.0)
    assert found["HEARTBEAT"].base_mode & mavlink.MAV_MODE_FLAG_HIL_ENABLED
    assert not any("SYS_HITL" in text for text in reports)
    assert not codec.refused.counts
    assert codec.round_trip.count > 10
    assert flight.loop.statistics.restarts == 0
