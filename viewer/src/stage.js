// The scene in three dimensions: bodies with their shapes, links between them, surfaces, fields,
// arrows. z is up; lengths in metres.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import { bytes, columns } from "./columns.js";
import { colour } from "./colours.js";
import { SpringGeometry, checker, geometry_of, rod_geometry, vertices_of } from "./shapes.js";

const UP = new THREE.Vector3(0, 0, 1);
const MARGIN = 1.12; // around the scene
// Where ghosts lean to, and how much is seen of one.
const GHOST = { light: { tint: 0x8a63d8, opacity: 0.28 }, dark: { tint: 0xb79cf5, opacity: 0.45 } };
const LONGEST_TRAIL = 4000; // points

// What draws; null in a browser without WebGL, or where its graphics fail.
export function renderer_of(canvas) {
  try {
    return new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
  } catch {
    return null;
  }
}

// The numbers of one trajectory that the scene needs.
export class Motion {
  constructor(data) {
    this.poses = columns(data.poses);
    // A soft body's vertices are the first numbers of its state.
    this.vertices = data.vertices ? columns(data.states) : null;
    this.stress = columns(data.stress);
    this.stripe = columns(data.surface?.stripe);
    this.field = columns(data.field);
    this.tracers = columns(data.tracers);
    this.bodies = this.poses ? this.poses.width / 7 : 0;
  }
  body(i, b, position, turn) {
    const at = (k) => this.poses.at(i, 7 * b + k);
    position.set(at(0), at(1), at(2));
    turn?.set(at(4), at(5), at(6), at(3)).normalize();
  }
}

export class Stage {
  constructor(renderer, scene, dark) {
    this.canvas = renderer.domElement;
    this.data = scene;
    this.renderer = renderer;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.world = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
    this.camera.up.copy(UP);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => this.draw());
    this.shown = { trails: true, ghost: true, arrows: true, forces: true, hidden: false };
    this.lights();
    this.fill(scene);
    this.set_theme(dark);
    this.reset();
  }

  // ---- making ----------------------------------------------------------------------------------

  lights() {
    this.sky = new THREE.HemisphereLight(0xffffff, 0x8a8f99, 1.5);
    this.sun = new THREE.DirectionalLight(0xffffff, 2.2);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0005;
    this.sun.shadow.normalBias = 0.01;
    this.world.add(this.sky, this.sun, this.sun.target);
  }

  // Everything that comes from a trajectory; called again when a live run brings another one.
  fill(scene) {
    this.data = scene;
    if (this.content) this.world.remove(this.content);
    this.content = new THREE.Group();
    this.world.add(this.content);
    this.floors = [];
    this.faint = []; // materials of ghosts
    this.motion = new Motion(scene);
    this.frames = scene.frames;
    this.measure();
    this.solid = this.actor(this.motion, null);
    // Of several, later ones are seen more.
    const all = scene.ghosts ?? [];
    const seen = (k) => 0.4 + (0.6 * (k + 1)) / all.length;
    this.ghosts = all.map((one, k) => this.actor(new Motion(one), seen(k)));
    this.curves();
    this.trails();
    this.arrows();
  }

  // Where things are: a box around the motion, for camera, light and arrows.
  measure() {
    const box = new THREE.Box3();
    const p = new THREE.Vector3();
    const every = Math.max(1, Math.floor(this.frames / 200));
    const { motion, data } = this;
    const reach = new Float64Array(motion.bodies);
    let walls = 0;
    for (const g of data.geoms ?? []) {
      if (g.shape === "plane" || g.hidden) continue;
      const size =
        g.shape === "mesh"
          ? g.extent
          : g.shape === "hfield"
            ? Math.hypot(...data.assets.fields[g.field].size.slice(0, 2))
            : Math.hypot(...g.size.map(Math.abs));
      if (g.body < 0 || (g.body === 0 && data.robot)) {
        walls = Math.max(walls, Math.min(size, 2));
        continue;
      }
      reach[g.body] = Math.max(reach[g.body], Math.hypot(...g.pos) + size);
    }
    const travel = new THREE.Box3();
    for (let i = 0; i < this.frames; i += every) {
      for (let b = data.robot ? 1 : 0; b < motion.bodies; ++b) {
        motion.body(i, b, p);
        const r = Math.max(reach[b], 1e-3);
        box.expandByPoint(p.clone().addScalar(r)).expandByPoint(p.clone().addScalar(-r));
        if (i === 0)
          travel.expandByPoint(p.clone().addScalar(r)).expandByPoint(p.clone().addScalar(-r));
      }
      if (motion.vertices) {
        for (let v = 0; v < data.surface.count; v += 1 + Math.floor(data.surface.count / 300)) {
          p.set(
            motion.vertices.at(i, 3 * v),
            motion.vertices.at(i, 3 * v + 1),
            motion.vertices.at(i, 3 * v + 2),
          );
          box.expandByPoint(p);
        }
      }
    }
    for (const c of data.curves ?? []) {
      const v = vertices_of(c.points);
      for (let k = 0; k < v.length; k += 3) box.expandByPoint(p.set(v[k], v[k + 1], v[k + 2]));
    }
    if (data.box) for (const corner of data.box) box.expandByPoint(p.set(...corner));
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, 0), new THREE.Vector3(1, 1, walls || 1));
    this.box = box;
    this.size = box.getSize(new THREE.Vector3()).length() || 1;
    this.start = travel.isEmpty() ? box : travel;
    this.own = this.start.getSize(new THREE.Vector3()).length() || 1;
    this.wanders = !!data.robot && this.size > 2.2 * this.own;
    if (this.wanders) this.size = this.own;
    this.lead = data.lead ?? -1;
  }

  material(rgba, ghost) {
    const [r, g, b, a] = rgba;
    const made = new THREE.MeshStandardMaterial({ roughness: 0.62, metalness: 0.05 });
    made.color.setRGB(r, g, b, THREE.SRGBColorSpace);
    const opacity = ghost ? GHOST.light.opacity * ghost : a;
    if (ghost) this.faint.push({ made, own: made.color.clone(), ghost });
    if (opacity < 1) Object.assign(made, { transparent: true, opacity, depthWrite: !ghost });
    return made;
  }

  // One trajectory's things: groups for bodies, links, a surface, a field. ghost: null, or how much
  // it is seen, up to 1.
  actor(motion, ghost) {
    const { data } = this;
    const all = new THREE.Group();
    const actor = { motion, faint: ghost, groups: [], links: [], all, hidden: [] };
    this.content.add(actor.all);
    for (let b = 0; b < motion.bodies; ++b) {
      const group = new THREE.Group();
      actor.groups.push(group);
      actor.all.add(group);
    }
    for (const geom of data.geoms ?? []) {
      if (ghost && (geom.body < 0 || (geom.body === 0 && data.robot))) continue;
      if (geom.shape === "plane") {
        if (!ghost) this.floor(geom, actor);
        continue;
      }
      const geometry = geometry_of(geom, data.assets);
      if (!geometry) continue;
      const mesh = new THREE.Mesh(geometry, this.material(geom.rgba, ghost));
      mesh.position.set(...geom.pos);
      const [w, x, y, z] = geom.quat;
      mesh.quaternion.set(x, y, z, w);
      mesh.castShadow = !ghost && geom.rgba[3] > 0.3;
      mesh.receiveShadow = !ghost;
      if (geom.hidden) {
        mesh.visible = false;
        actor.hidden.push(mesh);
      }
      (actor.groups[geom.body] ?? actor.all).add(mesh);
    }
    for (const link of data.links ?? []) this.link(link, actor, ghost);
    if (motion.vertices) this.surface(actor, ghost);
    if (motion.field && !ghost) this.picture(actor);
    if (motion.tracers && !ghost) this.tracers(actor);
    return actor;
  }

  floor(geom, actor) {
    const far = 30 * this.size;
    const [hx, hy] = [geom.size[0] || far, geom.size[1] || far];
    const tile = 2 * this.tile();
    const texture = checker(false);
    texture.repeat.set((2 * hx) / tile, (2 * hy) / tile);
    const material = new THREE.MeshStandardMaterial({ map: texture, roughness: 0.95 });
    const mesh = new THREE.Mesh(new THREE.PlaneGeometry(2 * hx, 2 * hy), material);
    mesh.position.set(...geom.pos);
    const [w, x, y, z] = geom.quat;
    mesh.quaternion.set(x, y, z, w);
    mesh.receiveShadow = true;
    (actor.groups[geom.body] ?? actor.all).add(mesh);
    this.floors.push({ mesh, repeat: texture.repeat.clone() });
  }

  // Side of a square of the floor: 1, 2 or 5 times a power of ten, about a tenth of the scene.
  tile() {
    const wanted = 0.15 * this.size;
    const ten = 10 ** Math.floor(Math.log10(wanted));
    return ten * (wanted / ten >= 5 ? 5 : wanted / ten >= 2 ? 2 : 1);
  }

  link(link, actor, ghost) {
    const geometry =
      link.kind === "spring" ? new SpringGeometry(link.turns, link.radius) : rod_geometry();
    const mesh = new THREE.Mesh(geometry, this.material(link.rgba, ghost));
    mesh.castShadow = !ghost;
    mesh.frustumCulled = false;
    actor.links.push({ ...link, mesh });
    actor.all.add(mesh);
  }

  surface(actor, ghost) {
    const { data } = this;
    const { count } = data.surface;
    const place = new THREE.BufferAttribute(new Float32Array(3 * count), 3);
    const tint = new THREE.BufferAttribute(new Float32Array(3 * count).fill(0.7), 3);
    if (data.surface.triangles) {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", place);
      geometry.setAttribute("color", tint);
      geometry.setIndex(
        new THREE.BufferAttribute(new Uint32Array(bytes(data.surface.triangles)), 1),
      );
      const material = this.material(data.surface.rgba, ghost);
      material.side = THREE.DoubleSide;
      if (data.stress && !ghost) {
        material.vertexColors = true;
        material.color.set(0xffffff);
      }
      const mesh = new THREE.Mesh(geometry, material);
      mesh.castShadow = mesh.receiveShadow = !ghost;
      mesh.frustumCulled = false;
      actor.all.add(mesh);
      actor.surface = { geometry, place, tint, stressed: material.vertexColors };
      const edges = data.surface.edges && new Uint32Array(bytes(data.surface.edges));
      if (edges && !ghost) {
        const wires = new THREE.BufferGeometry();
        wires.setAttribute("position", place);
        wires.setIndex(new THREE.BufferAttribute(edges, 1));
        const lines = new THREE.LineSegments(
          wires,
          new THREE.LineBasicMaterial({ color: 0x000000, transparent: true, opacity: 0.22 }),
        );
        lines.frustumCulled = false;
        actor.all.add(lines);
      }
    } else {
      // A rod: one tube through its points, made anew in every frame.
      const mesh = new THREE.Mesh(
        new THREE.BufferGeometry(),
        this.material(data.surface.rgba, ghost),
      );
      mesh.castShadow = !ghost;
      mesh.frustumCulled = false;
      actor.all.add(mesh);
      const radius = Math.max(data.surface.radius, 0.004 * this.size);
      const ball = geometry_of({ shape: "sphere", size: [radius] });
      const ends = [0, 1].map(() => new THREE.Mesh(ball, mesh.material));
      actor.all.add(...ends);
      actor.tube = { mesh, count, radius, ends };
      if (actor.motion.stripe) this.stripe(actor);
    }
  }

  // A line along one side of a rod, which shows how it twists.
  stripe(actor) {
    const { tube } = actor;
    const material = new LineMaterial({
      color: 0xffc928,
      worldUnits: true,
      linewidth: 0.5 * tube.radius,
    });
    tube.stripe = new Line2(new LineGeometry(), material);
    tube.stripe.frustumCulled = false;
    actor.all.add(tube.stripe);
  }

  // Points that drift with a flow, just above its colours and below its obstacles.
  tracers(actor) {
    const { motion } = actor;
    const count = motion.tracers.width / 2;
    const place = new THREE.BufferAttribute(new Float32Array(3 * count), 3);
    const height = 0.001 * Math.min(...this.data.grid.size);
    for (let k = 0; k < count; ++k) place.setZ(k, height);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", place);
    const material = new THREE.PointsMaterial({
      color: 0xffffff,
      size: 2.5 * Math.min(devicePixelRatio, 2),
      sizeAttenuation: false,
    });
    const points = new THREE.Points(geometry, material);
    points.frustumCulled = false;
    actor.all.add(points);
    actor.tracers = { points, place };
  }

  // A scalar field on a grid, as a picture that lies in the plane z = 0.
  picture(actor) {
    const { shape, size } = this.data.grid;
    const [nx, ny] = shape;
    const pixels = new Uint8Array(4 * nx * ny).fill(255);
    const texture = new THREE.DataTexture(pixels, nx, ny);
    texture.colorSpace = THREE.SRGBColorSpace;
    texture.magFilter = nx * ny < 4096 ? THREE.NearestFilter : THREE.LinearFilter;
    const mesh = new THREE.Mesh(
      new THREE.PlaneGeometry(...size),
      new THREE.MeshBasicMaterial({ map: texture }),
    );
    mesh.position.set(size[0] / 2, size[1] / 2, 0);
    actor.all.add(mesh);
    actor.picture = { texture, pixels, nx, ny };
  }

  curves() {
    for (const curve of this.data.curves ?? []) {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(vertices_of(curve.points), 3));
      const [r, g, b] = curve.rgba;
      const material = new THREE.LineBasicMaterial({
        color: new THREE.Color().setRGB(r, g, b, THREE.SRGBColorSpace),
      });
      this.content.add(new THREE.Line(geometry, material));
    }
  }

  trails() {
    this.paths = new THREE.Group();
    this.content.add(this.paths);
    this.trail_lines = [];
    const step = Math.max(1, Math.ceil(this.frames / LONGEST_TRAIL));
    const p = new THREE.Vector3();
    const add = (motion, b, tint, opacity) => {
      const rows = motion.poses.rows;
      const points = [];
      for (let i = 0; i < rows; i += step) {
        motion.body(i, b, p);
        points.push(p.x, p.y, p.z);
      }
      if (points.length < 6) return;
      const material = new LineMaterial({ color: tint, transparent: true, opacity, linewidth: 2 });
      const line = new Line2(new LineGeometry().setPositions(points), material);
      line.frustumCulled = false;
      this.paths.add(line);
      this.trail_lines.push({
        line,
        step,
        total: points.length / 3,
        of_ghost: motion !== this.motion,
      });
    };
    for (const b of this.data.trails ?? []) {
      add(this.motion, b, 0x2f80d6, 0.85);
      for (const { motion, faint } of this.ghosts) add(motion, b, 0x9a6cf0, 0.5 * faint);
    }
  }

  arrow(tint) {
    const group = new THREE.Group();
    const material = new THREE.MeshStandardMaterial({
      color: tint,
      emissive: tint,
      emissiveIntensity: 0.45,
      roughness: 0.6,
      // Seen through what they stand in: contacts lie inside bodies as a rule.
      depthTest: false,
      transparent: true,
    });
    const shaft = new THREE.Mesh(rod_geometry(), material);
    const head = new THREE.Mesh(
      new THREE.ConeGeometry(1, 1, 16).rotateX(Math.PI / 2).translate(0, 0, 0.5),
      material,
    );
    shaft.renderOrder = head.renderOrder = 10;
    group.add(shaft, head);
    group.visible = false;
    this.arrow_group.add(group);
    return { group, shaft, head };
  }

  set_arrow(arrow, from, vector, length) {
    arrow.group.visible = length > 0.012 * this.size;
    if (!arrow.group.visible) return;
    arrow.group.position.copy(from);
    arrow.group.quaternion.setFromUnitVectors(UP, vector.clone().normalize());
    const r = 0.006 * this.size;
    const tip = Math.min(0.045 * this.size, 0.5 * length);
    arrow.shaft.scale.set(r, r, length - tip);
    arrow.head.position.set(0, 0, length - tip);
    arrow.head.scale.set(2.6 * r, 2.6 * r, tip);
  }

  arrows() {
    this.arrow_group = new THREE.Group();
    this.content.add(this.arrow_group);
    this.wants = this.data.gradient?.places ? columns(this.data.gradient.places) : null;
    this.want_arrows = [];
    if (this.wants)
      for (const _ of this.data.gradient.index) this.want_arrows.push(this.arrow(0xe2570f));
    const c = this.data.contacts;
    this.contacts = c
      ? { at: columns(c.at), force: columns(c.force), first: new Uint32Array(bytes(c.first)) }
      : null;
    this.contact_arrows = [];
  }

  // ---- showing ---------------------------------------------------------------------------------

  pose(actor, i) {
    const { motion, groups, links } = actor;
    const row = Math.min(i, (motion.poses ?? motion.vertices ?? motion.field).rows - 1);
    groups.forEach((group, b) => motion.body(row, b, group.position, group.quaternion));
    for (const link of links) this.stretch(link, groups);
    if (actor.surface) this.deform(actor, row);
    if (actor.tube) this.bend(actor, row);
    if (actor.picture) this.paint(actor, row);
    if (actor.tracers) {
      const { place } = actor.tracers;
      for (let k = 0; k < place.count; ++k)
        place.setXY(k, motion.tracers.at(row, 2 * k), motion.tracers.at(row, 2 * k + 1));
      place.needsUpdate = true;
    }
  }

  stretch(link, groups) {
    const end = (b, p) => {
      const v = new THREE.Vector3(...p);
      return b < 0 ? v : v.applyQuaternion(groups[b].quaternion).add(groups[b].position);
    };
    const from = end(link.a, link.pa);
    const to = end(link.b, link.pb);
    const along = to.sub(from);
    const length = Math.max(along.length(), 1e-9);
    link.mesh.position.copy(from);
    link.mesh.quaternion.setFromUnitVectors(UP, along.divideScalar(length));
    if (link.kind === "spring") link.mesh.geometry.stretch(length);
    else link.mesh.scale.set(link.radius, link.radius, length);
  }

  deform(actor, i) {
    const { vertices, stress } = actor.motion;
    const { geometry, place, tint, stressed } = actor.surface;
    for (let k = 0; k < place.array.length; ++k) place.array[k] = vertices.at(i, k);
    place.needsUpdate = true;
    geometry.computeVertexNormals();
    if (!stressed) return;
    const top = this.data.stress_top || 1;
    const shade = new THREE.Color();
    for (let v = 0; v < stress.width; ++v) {
      shade.setRGB(...colour("stress", stress.at(i, v) / top), THREE.SRGBColorSpace);
      tint.setXYZ(v, shade.r, shade.g, shade.b);
    }
    tint.needsUpdate = true;
  }

  bend(actor, i) {
    const { mesh, count, radius, ends, stripe } = actor.tube;
    const points = [];
    for (let v = 0; v < count; ++v)
      points.push(new THREE.Vector3(...actor.motion.vertices.row(i, 3 * v, 3)));
    ends.forEach((end, k) => end.position.copy(points.at(-k)));
    const curve = new THREE.CatmullRomCurve3(points);
    mesh.geometry.dispose();
    mesh.geometry = new THREE.TubeGeometry(curve, 3 * count, radius, 10);
    if (!stripe) return;
    // Between two points the side turns with the share of the way; the tube's own radius is less
    // than that of its corners.
    const PARTS = 6;
    const [place, side] = [new THREE.Vector3(), new THREE.Vector3()];
    const [here, next] = [new THREE.Vector3(), new THREE.Vector3()];
    const line = [];
    for (let k = 0; k <= PARTS * (count - 1); ++k) {
      const v = Math.min(Math.floor(k / PARTS), count - 2);
      const share = k / PARTS - v;
      here.set(...actor.motion.stripe.row(i, 3 * v, 3));
      next.set(...actor.motion.stripe.row(i, 3 * v + 3, 3));
      curve.getPoint((v + share) / (count - 1), place);
      side.lerpVectors(here, next, share).normalize();
      place.addScaledVector(side, radius);
      line.push(place.x, place.y, place.z);
    }
    stripe.geometry.dispose();
    stripe.geometry = new LineGeometry().setPositions(line);
  }

  paint(actor, i) {
    const { texture, pixels, nx, ny } = actor.picture;
    const { field } = actor.motion;
    const [low, high] = this.data.field_range;
    for (let x = 0; x < nx; ++x) {
      for (let y = 0; y < ny; ++y) {
        const rgb = colour("field", (field.at(i, x * ny + y) - low) / (high - low || 1));
        const k = 4 * (y * nx + x);
        for (let c = 0; c < 3; ++c) pixels[k + c] = 255 * rgb[c];
      }
    }
    texture.needsUpdate = true;
  }

  show(i) {
    this.pose(this.solid, i);
    for (const ghost of this.ghosts) this.pose(ghost, i);
    for (const { line, step, total } of this.trail_lines) {
      line.geometry.instanceCount = Math.min(total - 1, Math.floor(i / step));
    }
    this.point(i);
    this.follow_camera();
    this.draw();
  }

  point(i) {
    const v = new THREE.Vector3();
    const from = new THREE.Vector3();
    const longest = 0.35 * this.size;
    this.want_arrows.forEach((arrow, k) => {
      const b = this.data.gradient.index[k];
      v.set(...this.wants.row(i, 3 * k, 3));
      const length = v.length() / (this.data.gradient.scale || 1);
      if (this.motion.poses) this.motion.body(i, b, from);
      else from.set(...this.motion.vertices.row(i, 3 * b, 3));
      this.set_arrow(
        arrow,
        from,
        v,
        (this.motion.poses ? 1 : 0.5) * longest * Math.min(length, 1.6),
      );
    });
    for (const arrow of this.want_arrows) arrow.group.visible &&= this.shown.arrows;
    if (!this.contacts) return;
    const { at, force, first } = this.contacts;
    const count = first[i + 1] - first[i];
    while (this.contact_arrows.length < count) this.contact_arrows.push(this.arrow(0x13a06f));
    this.contact_arrows.forEach((arrow, k) => {
      arrow.group.visible = false;
      if (k >= count || !this.shown.forces) return;
      v.set(...force.row(first[i] + k));
      from.set(...at.row(first[i] + k));
      this.set_arrow(
        arrow,
        from,
        v,
        longest * Math.min(v.length() / (this.data.contacts.scale || 1), 1.6),
      );
    });
  }

  // Turns the camera about its target [rad] and changes its distance by a factor.
  orbit(around, down, factor) {
    const { target } = this.controls;
    const { x, y, z } = this.camera.position.clone().sub(target);
    const r = Math.hypot(x, y, z);
    const azimuth = Math.atan2(y, x) + around;
    const polar = Math.min(Math.max(Math.acos(z / r) + down, 1e-3), Math.PI - 1e-3);
    const level = factor * r * Math.sin(polar);
    this.camera.position
      .set(level * Math.cos(azimuth), level * Math.sin(azimuth), factor * r * Math.cos(polar))
      .add(target);
    this.controls.update();
    this.draw();
  }

  follow_camera() {
    const goal = this.followed();
    if (this.following && this.goal) {
      const moved = goal.clone().sub(this.goal);
      this.camera.position.add(moved);
      this.controls.target.add(moved);
    }
    this.goal = goal;
    this.aim_sun(this.following ? this.controls.target : this.middle);
  }

  followed() {
    const p = new THREE.Vector3();
    if (this.lead >= 0 && this.solid.groups[this.lead])
      p.copy(this.solid.groups[this.lead].position);
    return p;
  }

  aim_sun(target) {
    const s = Math.max(this.size, 1e-6);
    this.sun.target.position.copy(target);
    this.sun.position.copy(target).add(new THREE.Vector3(0.7 * s, -0.9 * s, 2 * s));
    const eye = this.sun.shadow.camera;
    eye.left = eye.bottom = -1.2 * s;
    eye.right = eye.top = 1.2 * s;
    eye.near = 0.01 * s;
    eye.far = 6 * s;
    eye.updateProjectionMatrix();
  }

  // So far that every corner of the box is in the picture, with a margin.
  distance(away) {
    const up = Math.tan((this.camera.fov * Math.PI) / 360);
    const across = up * (this.camera.aspect || 1);
    const right = new THREE.Vector3().crossVectors(UP, away).normalize();
    const top = new THREE.Vector3().crossVectors(away, right);
    const box = this.wanders ? this.start : this.box;
    let far = 0;
    for (let k = 0; k < 8; ++k) {
      const corner = new THREE.Vector3(
        (k & 1 ? box.max : box.min).x,
        (k & 2 ? box.max : box.min).y,
        (k & 4 ? box.max : box.min).z,
      ).sub(this.middle);
      const needed = Math.max(Math.abs(corner.dot(right)) / across, Math.abs(corner.dot(top)) / up);
      far = Math.max(far, corner.dot(away) + MARGIN * needed);
    }
    return far;
  }

  reset() {
    this.following = this.wanders && this.lead >= 0;
    this.pose(this.solid, 0);
    this.middle = (this.wanders ? this.start : this.box).getCenter(new THREE.Vector3());
    const flat = this.data.look ?? [0.55, -1, 0.42];
    const away = new THREE.Vector3(...flat).normalize();
    const distance = this.distance(away);
    this.controls.target.copy(this.middle);
    this.camera.position.copy(this.middle).addScaledVector(away, distance);
    this.camera.near = distance / 200;
    this.camera.far = 60 * this.size + distance;
    this.camera.updateProjectionMatrix();
    this.goal = this.followed();
    this.controls.update();
    this.aim_sun(this.middle);
    this.draw();
  }

  apply(shown) {
    Object.assign(this.shown, shown);
    this.paths.visible = this.shown.trails;
    if (this.solid.tracers) this.solid.tracers.points.visible = this.shown.trails;
    for (const ghost of this.ghosts) ghost.all.visible = this.shown.ghost;
    for (const { line, of_ghost } of this.trail_lines) line.visible = !of_ghost || this.shown.ghost;
    for (const mesh of this.solid.hidden) mesh.visible = this.shown.hidden;
  }

  set_theme(dark) {
    this.world.background = new THREE.Color(dark ? 0x171d26 : 0xeef2f7);
    this.world.fog = new THREE.Fog(this.world.background, 8 * this.size, 30 * this.size);
    this.sky.intensity = dark ? 1.1 : 1.6;
    this.sun.intensity = dark ? 1.8 : 2.0;
    const { tint, opacity } = dark ? GHOST.dark : GHOST.light;
    for (const { made, own, ghost } of this.faint) {
      made.color.copy(own).lerp(new THREE.Color(tint), 0.75);
      made.opacity = opacity * ghost;
    }
    for (const { mesh, repeat } of this.floors) {
      mesh.material.map = checker(dark);
      mesh.material.map.repeat.copy(repeat);
      mesh.material.needsUpdate = true;
    }
    this.draw();
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (!w || !h) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(w, h, false);
    const first = !this.sized;
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    this.sized = true;
    if (first) this.reset();
    this.draw();
  }

  draw() {
    if (this.sized) this.renderer.render(this.world, this.camera);
  }
}
