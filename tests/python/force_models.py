"""Robots with one kind of actuator, tendon, fluid force or integrator each, in all that acts."""

ARM = """
  <worldbody>
    <site name="shoulder_back" pos="-0.08 0.02 0.1"/> <site name="shoulder_front" pos="0.1 0 0.08"/>
    <geom name="shoulder" type="{shape}" size="0.06 0.1" pos="0 0 0" euler="90 10 0" {off}/>
    <site name="shoulder_side" pos="0 0.01 {side}"/>
    <body name="upper" gravcomp="0.1"> <joint name="shoulder" axis="0 1 0.1" damping="0.1"
        armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1.2" {off}/>
      <site name="upper_front" pos="0.05 0 -0.12"/> <site name="upper_back" pos="-0.05 0 -0.2"/>
      <site name="upper_low" pos="0.05 0.01 -0.32"/>
      <geom name="elbow" type="{other}" size="0.045 0.1" pos="0 0 -0.4" euler="85 0 10" {off}/>
      <site name="elbow_side" pos="-0.08 0 -0.4"/>
      <body name="lower" pos="0 0 -0.4"> <joint name="elbow" axis="0 1 0" damping="0.05"
          ref="-40" armature="0.01"/>
        <geom type="capsule" fromto="0 0 0 0.02 0 -0.35" size="0.02" mass="0.7" {off}/>
        <site name="lower_front" pos="0.04 0 -0.1"/> <site name="lower_back" pos="-0.05 0 -0.12"/>
        <body name="hand" pos="0.02 0 -0.36"> <joint name="wrist" type="ball" damping="0.02"
            armature="0.002"/>
          <geom type="box" size="0.03 0.05 0.06" mass="0.2" {off}/>
          <site name="hand" pos="0.01 0.02 -0.05"/> </body> </body> </body>
  </worldbody>"""
OFF = 'contype="0" conaffinity="0"'


def arm(shape="cylinder", other="sphere", side=0.12):
    return ARM.format(shape=shape, other=other, side=side, off=OFF)


ROUTES = """
  <tendon>
    <spatial name="flexor" damping="0.1" stiffness="20"> <site site="shoulder_front"/>
      <geom geom="shoulder" {first}/> <site site="upper_front"/> </spatial>
    <spatial name="extensor" range="0 0.26" limited="{limited}"> <site site="shoulder_back"/>
      <geom geom="shoulder"/> <site site="upper_back"/> <geom geom="elbow" sidesite="elbow_side"/>
      <site site="lower_back"/> <pulley divisor="2"/> <site site="upper_low"/>
      <geom geom="elbow"/> <site site="lower_front"/> </spatial>
    <spatial name="cord" stiffness="30" springlength="0.1"> <site site="lower_front"/>
      <site site="hand"/> </spatial>
  </tendon>"""


def routes(first='sidesite="shoulder_side"', limited="false"):
    return ROUTES.format(first=first, limited=limited)


MUSCLES = """
  <actuator>
    <muscle name="flexor" tendon="flexor" force="300" lengthrange="0.08 0.3"/>
    <muscle name="extensor" tendon="extensor" scale="150" range="0.6 1.1" lmin="0.4" lmax="1.7"
        vmax="2" fpmax="1.4" fvmax="1.3" timeconst="0.02 0.05" lengthrange="0.2 0.5"/>
    <muscle name="elbow" joint="elbow" force="20" tausmooth="0.3" gear="-0.2"
        lengthrange="-0.4 0.5"/>
    <general name="mixed" joint="shoulder" gaintype="muscle" gainprm="0.7 1.1 30 200 0.5 1.6 1.5 1.3
        1.2" biastype="affine" biasprm="0 -0.5 -0.1" lengthrange="-1.5 1.5"/>
  </actuator>"""

CRANKS = """
  <actuator> <motor name="crank" cranksite="lower_front" slidersite="shoulder_back"
      cranklength="0.9" gear="2"/>
      <general name="sprung" cranksite="hand" slidersite="upper_back" cranklength="0.6"
      gainprm="3" biastype="affine" biasprm="0.1 -4 -0.3"/>
    <position joint="shoulder" kp="20" kv="1"/> </actuator>"""

MOTORS = """
  <actuator> <motor tendon="flexor" gear="3"/> <position tendon="extensor" kp="50" kv="2"/>
    <motor joint="elbow"/> <general site="hand" gear="0.2 0.3 0.1 0.05 0 0.02" gainprm="2"/>
  </actuator>"""


# Geoms that the medium sees as ellipsoids, on a tree and on a body that flies alone; one body has
# its inertia box.
SWIMMERS = f"""
  <option density="900" viscosity="0.2" wind="0.2 -0.1 0.05"/>
  <worldbody>
    <body name="fish" pos="0 0 1"> <freejoint/>
      <geom name="fish" type="ellipsoid" size="0.2 0.08 0.1" mass="6" fluidshape="ellipsoid"
          fluidcoef="0.4 0.3 1.2 0.9 1.1" {OFF}/>
      <body name="tail" pos="-0.2 0 0"> <joint name="tail" axis="0 0.1 1" damping="0.05"
          armature="0.01" stiffness="3"/>
        <geom name="tail" type="box" size="0.1 0.02 0.08" pos="-0.1 0 0.01" euler="10 20 5"
            mass="0.5" fluidshape="ellipsoid" {OFF}/>
        <body name="fin" pos="-0.2 0 0"> <joint name="fin" type="ball" damping="0.02"
            armature="0.002" stiffness="1"/>
          <geom name="fin" type="capsule" size="0.03 0.08" pos="-0.05 0 0.02" mass="0.3"
              fluidshape="ellipsoid" {OFF}/> </body> </body>
      <body name="box" pos="0.1 0.1 0"> <joint name="box" axis="1 0 0" damping="0.05"
          armature="0.01"/> <geom type="cylinder" size="0.05 0.04" pos="0 0.05 0" mass="0.4" {OFF}/>
      </body> </body>
    <body name="leaf" pos="1 0 1" euler="20 30 0"> <freejoint/>
      <geom name="leaf" type="cylinder" size="0.1 0.04" mass="2" fluidshape="ellipsoid" {OFF}/>
      <geom name="ball" size="0.06" pos="0.12 0 0.02" mass="0.5" fluidshape="ellipsoid" {OFF}/>
      <site name="leaf" pos="0.1 0.05 0"/> </body>
  </worldbody>
  <actuator> <motor joint="tail" gear="4"/> <motor joint="fin" gear="0.5 0.2 0.1"/>
    <motor joint="box" gear="0.5"/> <motor site="leaf" gear="3 1 2 0.2 0.3 0.1"/> </actuator>"""

# Servos on a ball whose controls wind around it.
WINDING = f"""
  <worldbody> <body name="upper"> <joint name="shoulder" type="ball" damping="0.3"
      armature="0.02"/> <geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.03" mass="1" {OFF}/>
    <body name="lower" pos="0.1 0 -0.4"> <joint name="elbow" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5" {OFF}/> </body> </body>
  </worldbody>
  <actuator>
    <position name="filter" joint="shoulder" gear="1 0.3 0" kp="6" kv="0.5" timeconst="0.3"
        ctrlrange="-9 9"/>
    <general name="plain" joint="shoulder" gear="0 1.2 0.3" dyntype="filter" dynprm="0.2"
        gainprm="4" biastype="affine" biasprm="0 -4 -0.3" ctrlrange="-8 8"/>
    <intvelocity name="drift" joint="shoulder" gear="0 0 1" kp="3" kv="0.2"/>
    <position name="elbow" joint="elbow" kp="8" timeconst="0.1"/> </actuator>"""

# Compensation of gravity that counts among the forces of actuators, of which there are none.
UNCOMPENSATED = f"""
  <worldbody> <body name="upper" gravcomp="0.7"> <joint name="shoulder" axis="0 1 0.2"
      damping="0.1" armature="0.01" actuatorgravcomp="true"/>
    <geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.03" mass="1" {OFF}/>
    <body name="lower" pos="0.1 0 -0.4" gravcomp="1.2"> <joint name="elbow" axis="0 1 0"
        damping="0.05" armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 -0.1" size="0.02" mass="0.5" {OFF}/>
      <body name="hand" pos="0.3 0 -0.1" gravcomp="0.5"> <joint name="wrist" type="ball"
          damping="0.02" armature="0.002" actuatorgravcomp="true"/>
        <geom type="box" size="0.03 0.05 0.06" pos="0.05 0 0" mass="0.2" {OFF}/> </body> </body>
    </body> </worldbody>"""

# A foot that holds on to a ceiling, in touch with it and within the gap, and swings a leg.
ADHESION = """
  <option cone="elliptic"/>
  <default> <geom gap="0.02" solref="0.02 1" friction="0.8 0.01 0.001"/> </default>
  <worldbody> <geom name="ceiling" type="plane" size="2 2 0.1" pos="0 0 1" euler="180 0 0"/>
    <body name="foot" pos="0 0 0.951"> <freejoint/>
      <geom name="toe1" size="0.05" pos="0.12 0 0" mass="0.2"/>
      <geom name="toe2" size="0.05" pos="-0.08 0.1 0.001" mass="0.2"/>
      <geom name="toe3" size="0.05" pos="-0.08 -0.1 -0.012" mass="0.2"/>
      <body name="leg" pos="0 0 -0.03"> <joint name="leg" axis="0 1 0.1" damping="0.05"
          armature="0.01"/> <geom type="capsule" fromto="0 0 -0.05 0 0 -0.3" size="0.02" mass="0.3"
          contype="0" conaffinity="0"/> </body> </body> </worldbody>
  <actuator> <adhesion name="foot" body="foot" gain="60" ctrlrange="0.2 1"/>
    <general name="slow" body="foot" gear="2" gainprm="10" dyntype="filter" dynprm="0.05"/>
    <motor joint="leg" gear="0.5"/> </actuator>"""

# A foot on a limb whose joints limit their actuators, gravity compensation among them, at a wall.
HELD_ADHESION = """
  <default> <geom gap="0.02" solref="0.02 1" friction="0.8 0.01 0.001"/> </default>
  <worldbody> <geom name="ceiling" type="plane" size="2 2 0.1" pos="0 0 1" euler="180 0 0"/>
    <body name="limb" pos="0 0 0.9"> <joint name="lift" type="slide" axis="0.1 0 1" damping="2"
          armature="0.1" actuatorfrcrange="-8 6"/>
      <joint name="turn" axis="0 1 0.2" damping="0.1" armature="0.02" actuatorfrcrange="-2.2 1.8"
          actuatorgravcomp="true"/>
      <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.4" contype="0"
          conaffinity="0"/>
      <body name="foot" pos="0.2 0 0.051" gravcomp="0.8"> <joint name="ankle" type="ball"
          damping="0.05" armature="0.005"/>
        <geom name="toe1" size="0.05" pos="0.1 0 0" mass="0.2"/>
        <geom name="toe2" size="0.05" pos="-0.07 0.08 0.0005" mass="0.2"/>
        <geom name="toe3" size="0.05" pos="-0.07 -0.08 -0.008" mass="0.2" adhesion="{sticks}"/>
      </body> </body> </worldbody>
  <actuator> <adhesion name="foot" body="foot" gain="12" ctrlrange="0.2 1"/>
    <general name="slow" body="foot" gear="2" gainprm="5" dyntype="filter" dynprm="0.05"/>
    <position joint="turn" kp="2" kv="0.2"/> <motor joint="lift" gear="3"/> </actuator>"""

# PID servos with all their inputs and states, on joints, a tendon, a site and a ball.
PID = """
  <actuator>
    <pid name="whole" joint="shoulder" kp="20" kv="1.5" ki="6" imax="0.1" slewmax="8"
        input="pos vel ff" ctrlrange="-2 2" velrange="-0.5 0.5"/>
    <pid name="plain" joint="elbow" kp="15" kv="0.8" forcerange="-6 6"/>
    <pid name="pulled" tendon="flexor" kp="60" kv="2" ki="20" input="pos ff" gear="1.2"/>
    <pid name="slow" site="hand" refsite="shoulder_front" gear="0 0 0 0.6 0.3 0.1" kp="2" kv="0.1"
        ki="1" input="pos vel" slewmax="3"/>
    <pid name="turn" joint="wrist" gear="1 0.2 0.1" kp="1" kv="0.1" input="pos"/>
    <pid name="push" joint="wrist" gear="0 1 0.3" kp="0.5" kv="0.05" input="vel ff"/>
  </actuator>"""

# DC motors: all states, a voltage alone, a driver without current, friction and cogging alone.
DC_MOTORS = """
  <actuator>
    <dcmotor name="whole" joint="shoulder" gear="6" resistance="1.5" motorconst="0.12 0.1"
        inductance="0.008 0" thermal="6 30 0 0.004 25 22" saturation="0 40 4000"
        cogging="0.02 7 0.4" lugre="40 0.4 0.05 0.08 0.3" controller="2 0.8 0.1 60 0.3 14"
        input="pos vel ff voltage"/>
    <dcmotor name="voltage" joint="elbow" gear="4" resistance="2" motorconst="0.15 0.15"
        ctrlrange="-3 3" saturation="0.6 0 0"/>
    <dcmotor name="driver" tendon="flexor" gear="20" resistance="2" motorconst="0.05 0.05"
        controller="0.2 0 0.02 0 0 6" input="pos vel" thermal="8 20 0 0.004 25 25"/>
    <dcmotor name="slow" joint="wrist" gear="1 0.3 0.2" resistance="2" motorconst="0.05 0.05"
        inductance="0 0.02" input="voltage"/>
    <dcmotor name="rub" joint="elbow" resistance="1" motorconst="0 0" input="none"
        lugre="20 0.1 0.03 0.05 0.2" cogging="0.01 11 0"/>
  </actuator>"""

# One more on a tendon, whose limit holds neither its cogging nor its friction.
ROUGH_MOTOR = """
    <dcmotor name="rough" tendon="flexor" gear="8" resistance="2" motorconst="0.05 0.05"
        lugre="30 0.3 0.004 0.006 0.3" cogging="0.003 9 0.2"/> </actuator>"""

# Orientations of a ball and of sites, by rotation vectors and quaternions, held and integrated.
ORIENTATIONS = """
  <actuator>
    <orientation name="ball" joint="wrist" kp="3" kv="0.1"/>
    <orientation name="chart" joint="wrist" kp="1" kv="0.05" input="quat" {held}/>
    <orientation name="sites" site="hand" refsite="upper_front" kp="2" kv="0.2" ctrlrange="-1 1"/>
    <general name="drift" joint="wrist" gaintype="so3" biastype="so3" dyntype="integrator"
        gainprm="1.5" biasprm="0.02 -1.5 -0.1" actearly="true"/>
    <motor joint="shoulder" gear="3"/> </actuator>"""

# Things on a belt and on a turntable, and a drum whose own surface runs.
BELTS = """
  <option cone="{cone}"/>
  <default> <geom friction="0.7 0.02 0.001" condim="4"/> </default>
  <worldbody>
    <geom name="belt" type="box" size="1 0.4 0.1" pos="0 0 -0.1" euler="0 4 0"
        surfacevel="0.6 0.1 0.05 0 0 0"/>
    <body name="table" pos="0 1.2 0"> <joint name="table" axis="0 1 0.2" damping="2" stiffness="50"
        armature="0.1"/> <geom name="table" type="cylinder" size="0.5 0.1" pos="0 0 -0.1" mass="4"
        surfacevel="0.05 0 0 0 0 2"/> </body>
    <body name="brick" pos="0 0 0.0547"> <freejoint/> <geom name="brick" type="box"
        size="0.08 0.06 0.05" mass="0.5"/> </body>
    <body name="ball" pos="0.2 1.3 0.0485"> <freejoint/> <geom name="ball" size="0.05" mass="0.3"
        surfacevel="0 0.2 0 0.5 0 0.3"/> </body>
    <body name="rod" pos="-0.4 0.1 0.08"> <freejoint/> <geom name="rod" type="capsule"
        size="0.04 0.06" euler="0 90 20" mass="0.3"/> </body>
  </worldbody>
  <actuator> <motor joint="table" gear="0.5"/> </actuator>"""

# Sticky balls and boxes below a ceiling: pressed, pulled, and within the gap.
STICKY = """
  <option cone="{cone}"/>
  <default> <geom gap="0.01" friction="0.8 0.01 0.001"/> </default>
  <worldbody> <geom name="ceiling" type="plane" size="2 2 0.1" pos="0 0 1" euler="180 0 0"
        adhesion="6"/>
    <body name="foot" pos="0 0 0.951"> <freejoint/>
      <geom name="toe1" size="0.05" pos="0.12 0 0" mass="0.2" adhesion="2" condim="4"/>
      <geom name="toe2" size="0.05" pos="-0.08 0.1 0.0005" mass="0.2" condim="1"/>
      <geom name="toe3" size="0.05" pos="-0.08 -0.1 -0.006" mass="0.2" priority="1"
          adhesion="3"/>
      <body name="leg" pos="0 0 -0.03"> <joint name="leg" axis="0 1 0.1" damping="0.05"
          armature="0.01"/> <geom type="capsule" fromto="0 0 -0.05 0 0 -0.3" size="0.02" mass="0.3"
          contype="0" conaffinity="0"/> </body> </body>
    <body name="drop" pos="0.6 0 0.948"> <freejoint/> <geom name="drop" size="0.05" mass="0.9"
        adhesion="4"/> </body> </worldbody>
  <contact> <pair geom1="toe2" geom2="ceiling" adhesion="5" gap="0.01" condim="3"/> </contact>
  <actuator> <motor joint="leg" gear="0.5"/> </actuator>"""

# Rows of every kind, on a moved tree: limits, friction loss, equalities, tendons, and a foot that
# rubs on the ground, with one ball beside it that only presses.
ROWS = """
  <option cone="{cone}" impratio="2"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1" friction="0.6 0.02 0.001"/>
    <body name="hand" mocap="true" pos="0.6 0.3 0.8"> <geom size="0.02" contype="0"
        conaffinity="0"/> </body>
    <body name="trunk" pos="0 0 0.495"> <freejoint/>
      <geom type="box" size="0.1 0.06 0.04" mass="1.5" {off}/> <site name="trunk" pos="0.1 0 0"/>
      <body name="leg" pos="0.05 0 -0.05"> <joint name="hip" type="ball" damping="0.2"
          armature="0.01" limited="true" range="0 8"/>
        <geom type="capsule" fromto="0 0 0 0.03 0.02 -0.2" size="0.03" mass="0.5" {off}/>
        <body name="foot" pos="0.03 0.02 -0.2" euler="4 9 0"> <joint name="knee" axis="0 1 0.1"
            damping="0.1" armature="0.01" range="-3 3" frictionloss="0.2"/>
          <geom name="foot" type="capsule" fromto="0 0 0 0.02 0 -0.2" size="0.04" mass="0.3"
              condim="6" friction="0.8 0.03 0.002"/> <site name="foot" pos="0.02 0 -0.1"/> </body>
      </body>
      <body name="arm" pos="-0.08 0 0"> <joint name="arm" axis="0.1 1 0" armature="0.02"
          damping="0.1"/> <joint name="slide" type="slide" axis="1 0 0.2" armature="0.05"
          damping="0.3"/>
        <geom type="capsule" fromto="0 0 0 -0.2 0 0.1" size="0.02" mass="0.4" {off}/>
        <site name="arm" pos="-0.2 0 0.1"/> </body> </body>
    <body name="ball" pos="0.5 0 0.0595"> <freejoint/> <geom name="ball" size="0.06" mass="0.4"
        condim="{condim}"/> <site name="ball" pos="0 0 0.05"/> </body>
  </worldbody>
  <tendon> <spatial name="cord" range="0 0.3" limited="true" frictionloss="0.3" armature="0.03"
        damping="0.2"> <site site="foot"/> <site site="arm"/> </spatial>
    <fixed name="sum"> <joint joint="arm" coef="0.4"/> <joint joint="slide" coef="1"/> </fixed>
  </tendon>
  <equality> <connect body1="ball" body2="hand" anchor="0 0 0.04" solref="0.1 1"/>
    <weld site1="trunk" site2="ball" solref="0.2 1" solimp="0.3 0.8 0.5"/>
    <joint joint1="arm" joint2="slide" polycoef="0.05 0.5 0.2 0 0"/>
    <tendon tendon1="sum" polycoef="0.02"/> </equality>
  <actuator> <motor joint="knee" gear="2" armature="0.003"/> <motor joint="arm"/>
    <motor joint="slide"/> </actuator>"""
TOUCHING = (
    "exact weights", "exact weights, elliptic", "adhesion", "adhesion, held",
    "adhesion, held and sticky",
    "belts", "belts, elliptic", "sticky", "sticky, elliptic", "exact weights, sticky",
    "exact weights, sticky, elliptic",
)


def model(parts, option="", flags=""):
    return (
        f'<mujoco> <option timestep="0.002" {option}> <flag {flags}/> </option> '
        f'{"".join(parts)} </mujoco>'
    )


# {name: XML with a place for the integrator}
def xml(name, integrator="Euler", **more):
    flags = 'diagexact="enable"' if name.startswith("exact") else ""
    return model(PARTS[name](**more), f'integrator="{integrator}"', flags)


PARTS = {
    "muscles": lambda: [arm(), routes(), MUSCLES],
    "around cylinders and spheres": lambda: [arm(), routes(), MOTORS],
    "around spheres and cylinders": lambda: [
        arm("sphere", "cylinder"),
        routes("", "true"),
        MOTORS,
    ],
    "slider-cranks": lambda: [arm(), CRANKS],
    "ellipsoids in a medium": lambda: [SWIMMERS],
    "servos that wind": lambda: [WINDING],
    "no actuators": lambda: [UNCOMPENSATED],
    "adhesion": lambda: [ADHESION],
    "adhesion, held": lambda: [HELD_ADHESION.format(sticks=0)],
    "adhesion, held and sticky": lambda: [HELD_ADHESION.format(sticks=3)],
    "PID": lambda: [arm(), routes(), PID],
    "DC motors": lambda: [arm(), routes(), DC_MOTORS],
    "DC motors, held": lambda: [
        arm(),
        routes().replace('name="flexor"', 'name="flexor" actuatorfrcrange="-0.01 0.008"'),
        DC_MOTORS.replace("</actuator>", ROUGH_MOTOR),
    ],
    "orientations": lambda: [arm(), ORIENTATIONS.format(held="")],
    "orientations, held": lambda: [arm(), ORIENTATIONS.format(held='forcerange="0 0.6"')],
    "belts": lambda: [BELTS.format(cone="pyramidal")],
    "belts, elliptic": lambda: [BELTS.format(cone="elliptic")],
    "sticky": lambda: [STICKY.format(cone="pyramidal")],
    "exact weights, sticky": lambda: [STICKY.format(cone="pyramidal")],
    "exact weights, sticky, elliptic": lambda: [STICKY.format(cone="elliptic")],
    "sticky, elliptic": lambda: [STICKY.format(cone="elliptic")],
    "exact weights": lambda: [ROWS.format(cone="pyramidal", condim=1, off=OFF)],
    "exact weights, elliptic": lambda: [ROWS.format(cone="elliptic", condim=4, off=OFF)],
    "through a cylinder": lambda: [arm(side=0.02), routes(), MOTORS],
    "through a sphere": lambda: [arm("sphere", side=0.02), routes(), MOTORS],
}
