// Geometries of MuJoCo's shapes, z along the axis, sizes as in MJCF [m].
import * as THREE from "three";
import { Columns, bytes } from "./columns.js";

const SIDES = 28;

export function vertices_of(given) {
  const columns = new Columns(given);
  const out = new Float32Array(3 * columns.rows);
  for (let i = 0; i < columns.rows; ++i) {
    for (let k = 0; k < 3; ++k) out[3 * i + k] = columns.at(i, k);
  }
  return out;
}

function mesh_geometry({ vertices, triangles }) {
  const indexed = new THREE.BufferGeometry();
  indexed.setAttribute("position", new THREE.BufferAttribute(vertices_of(vertices), 3));
  indexed.setIndex(new THREE.BufferAttribute(new Uint32Array(bytes(triangles)), 1));
  const flat = indexed.toNonIndexed(); // faces of machines are flat
  flat.computeVertexNormals();
  return flat;
}

function field_geometry({ rows, columns, size, heights }) {
  const [x, y, top] = size;
  const geometry = new THREE.PlaneGeometry(2 * x, 2 * y, columns - 1, rows - 1);
  const z = new Columns(heights);
  const place = geometry.attributes.position;
  // A plane's vertices go from high y to low, MuJoCo's rows from low y to high.
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < columns; ++c) {
      place.setZ((rows - 1 - r) * columns + c, top * z.at(r * columns + c, 0));
    }
  }
  geometry.computeVertexNormals();
  return geometry;
}

export function geometry_of(geom, assets) {
  const [a, b, c] = geom.size;
  switch (geom.shape) {
    case "sphere":
      return new THREE.SphereGeometry(a, SIDES, SIDES / 2);
    case "ellipsoid":
      return new THREE.SphereGeometry(1, SIDES, SIDES / 2).scale(a, b, c);
    case "capsule":
      return new THREE.CapsuleGeometry(a, 2 * b, 8, SIDES).rotateX(Math.PI / 2);
    case "cylinder":
      return new THREE.CylinderGeometry(a, a, 2 * b, SIDES).rotateX(Math.PI / 2);
    case "box":
      return new THREE.BoxGeometry(2 * a, 2 * b, 2 * c);
    case "mesh":
      return mesh_geometry(assets.meshes[geom.mesh]);
    case "hfield":
      return field_geometry(assets.fields[geom.field]);
    default:
      return null;
  }
}

// A spring along z. Its wire stays round while it stretches, so that places are found anew.
export class SpringGeometry extends THREE.BufferGeometry {
  constructor(turns, radius, around = 5) {
    super();
    Object.assign(this, { turns, radius, around, rings: 14 * turns });
    const count = (this.rings + 1) * around;
    this.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    const index = [];
    for (let i = 0; i < this.rings; ++i) {
      for (let k = 0; k < around; ++k) {
        const a = i * around + k;
        const b = i * around + ((k + 1) % around);
        index.push(a, b, a + around, b, b + around, a + around);
      }
    }
    this.setIndex(index);
  }

  stretch(length) {
    const { turns, radius, around, rings } = this;
    const wire = 0.13 * radius;
    const place = this.attributes.position;
    const straight = 0.07; // of the length, at either end
    for (let i = 0; i <= rings; ++i) {
      const t = i / rings;
      const inner = Math.min(Math.max((t - straight) / (1 - 2 * straight), 0), 1);
      const r = radius * Math.min(1, 12 * inner, 12 * (1 - inner));
      const angle = 2 * Math.PI * turns * inner;
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      for (let k = 0; k < around; ++k) {
        const turn = (2 * Math.PI * k) / around;
        const out = r + wire * Math.cos(turn);
        place.setXYZ(i * around + k, out * c, out * s, t * length + wire * Math.sin(turn));
      }
    }
    place.needsUpdate = true;
    this.computeVertexNormals();
  }
}

// A rod of radius 1 from 0 to 1 along z.
export const rod_geometry = () =>
  new THREE.CylinderGeometry(1, 1, 1, 14).rotateX(Math.PI / 2).translate(0, 0, 0.5);

// Squares of one metre, for a floor.
export function checker(dark) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext("2d");
  const [one, other] = dark ? ["#263041", "#2f3b4e"] : ["#dfe5ec", "#cdd6e0"];
  pen.fillStyle = one;
  pen.fillRect(0, 0, 64, 64);
  pen.fillStyle = other;
  pen.fillRect(0, 0, 32, 32);
  pen.fillRect(32, 32, 32, 32);
  const texture = new THREE.CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.anisotropy = 8;
  return texture;
}
