"""Arms a vehicle in ROS 1 and lifts off, by body rates and thrust.

In two other terminals: `roscore`, then
`python -m propwash ros --sim-time --renderer none --start 18.5 6.5 1 0`.
Needs `pip install "propwash[ros]"` and ROS 1. A program for FlightGoggles imports the class from
`mav_msgs.msg`, and `rospy` without `import_rospy`.
"""

from propwash import ros

rospy = ros.import_rospy()
from nav_msgs.msg import Odometry  # noqa: E402
from std_msgs.msg import Empty  # noqa: E402

RateThrust = ros.message_class("mav_msgs/msg/RateThrust")

rospy.init_node("takeoff")
arm = rospy.Publisher("/uav/input/arm", Empty, queue_size=1, latch=True)
command = rospy.Publisher("/uav/input/rateThrust", RateThrust, queue_size=1)
height = start = rospy.wait_for_message("/uav/odometry", Odometry).pose.pose.position.z
message = RateThrust()
message.thrust.z = 1.05 * 9.81  # N, for a mass of 1 kg
arm.publish()
while height < start + 1.0:
    command.publish(message)
    height = rospy.wait_for_message("/uav/odometry", Odometry).pose.pose.position.z
print(f"lifted off: from {start:.1f} m to {height:.1f} m")
