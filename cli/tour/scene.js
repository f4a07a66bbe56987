
// Motions in three dimensions, drawn on a plain canvas: shapes of bodies, a surface with its
// stress, or a field. Far things first; a drag turns the view. The numbers are in the element
// `result`, lengths in tenths of a millimetre.
(function () {
  const result = JSON.parse(document.getElementById('result').textContent);
  const light = [0.35, -0.5, 0.79];
  const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0]];
  const turn = (q, v) => {
    const [w, x, y, z] = q, t = cross([x, y, z], v).map((c) => 2 * c);
    return add(add(v, t.map((c) => w * c)), cross([x, y, z], t));
  };
  const tint = (colour, share) =>
    'rgb(' + colour.map((c) => Math.round(Math.min(255, c * share))).join(',') + ')';
  const heat = (s) => [60 + 170 * s, 90 + 60 * (1 - Math.abs(2 * s - 1)), 200 - 150 * s];

  function Scene(figure) {
    const data = result[figure.dataset.scene].scene, canvas = figure.querySelector('canvas');
    const pen = canvas.getContext('2d');
    let angle = -1.05, tilt = 0.28, frame = 0;
    // Everything that is ever shown: the ends of shapes in every frame, or of the surface.
    const ends = (row) => data.shapes.filter((s) => s.kind !== 'plane').flatMap((s) => {
      const b = 7 * s.body, [at, quat] = [row.slice(b, b + 3), row.slice(b + 3, b + 7)]
        .map((v) => v.map((x) => x / 1e4));
      const centre = add(at, turn(quat, s.pos));
      const radius = s.kind === 'capsule' ? s.size[0] + s.size[1] : Math.max(...s.size);
      return [-radius, radius].map((r) => centre.map((x) => x + r));
    });
    const points = data.poses.length ? data.poses.flatMap(ends) : data.vertices.flatMap((row) =>
      [row.slice(0, 3), row.slice(-3)].map((p) => p.map((x) => x / 1e4)));
    const low = [0, 1, 2].map((i) => Math.min(...points.map((p) => p[i])));
    const high = [0, 1, 2].map((i) => Math.max(...points.map((p) => p[i])));
    const middle = low.map((l, i) => (l + high[i]) / 2);
    const half = high.map((h, i) => (h - low[i]) / 2), extent = Math.max(...half) || 1;
    const wide = Math.hypot(half[0], half[1]) || 1;  // whichever way it is turned

    function look(p) {  // across, up, depth
      const [x, y, z] = minus(p, middle);
      const c = Math.cos(angle), s = Math.sin(angle);
      const across = -s * x + c * y, ahead = c * x + s * y;
      const up = Math.cos(tilt) * z - Math.sin(tilt) * ahead * -1;
      const depth = Math.cos(tilt) * ahead * -1 + Math.sin(tilt) * z;
      return [across, up, depth];
    }
    function place(p) {
      const [a, u, d] = look(p), far = 1 / (1 + 0.12 * -d / extent);
      const tall = Math.cos(tilt) * half[2] + Math.abs(Math.sin(tilt)) * wide;
      const unit = far * Math.min(canvas.width / wide, canvas.height / tall) / 2.3;
      return [canvas.width / 2 + a * unit, canvas.height / 2 - u * unit, d, unit];
    }
    function polygon(corners, colour, shade, list) {
      const at = corners.map(place);
      const depth = at.reduce((sum, p) => sum + p[2], 0) / at.length;
      list.push([depth, () => {
        pen.beginPath();
        at.forEach((p, i) => (i ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1])));
        pen.closePath();
        pen.fillStyle = pen.strokeStyle = tint(colour, shade);
        pen.lineWidth = 1;
        pen.fill();
        pen.stroke();
      }]);
    }
    function rod(a, b, radius, colour, list) {
      const p = place(a), q = place(b), width = radius * (p[3] + q[3]);
      list.push([(p[2] + q[2]) / 2, () => {
        for (const [share, thick] of [[0.72, 1], [1, 0.7], [1.2, 0.3]]) {
          pen.strokeStyle = tint(colour, share);
          pen.lineWidth = Math.max(1, width * thick);
          pen.lineCap = 'round';
          pen.beginPath();
          pen.moveTo(p[0], p[1]);
          pen.lineTo(q[0], q[1] + 0.01);
          pen.stroke();
        }
      }]);
    }
    function box(size, at, quat, colour, list) {
      for (let axis = 0; axis < 3; ++axis) {
        for (const sign of [-1, 1]) {
          const n = [0, 0, 0], u = [0, 0, 0], v = [0, 0, 0];
          n[axis] = sign * size[axis];
          u[(axis + 1) % 3] = size[(axis + 1) % 3];
          v[(axis + 2) % 3] = size[(axis + 2) % 3];
          const corner = (i, j) => add(at, turn(quat, add(n, add(u.map((x) => i * x),
            v.map((x) => j * x)))));
          const normal = turn(quat, n.map((x) => Math.sign(x)));
          if (look(add(normal, middle))[2] < 0) continue;  // it looks away
          polygon([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], colour,
            0.75 + 0.35 * Math.max(0, dot(normal, light)), list);
        }
      }
    }
    function floor(list) {
      const step = extent / 3, dark = getComputedStyle(document.body).color.match(/\d+/)[0] > 128;
      const bottom = 0;
      for (let i = -4; i < 4; ++i) {
        for (let j = -4; j < 4; ++j) {
          const x = middle[0] + i * step, y = middle[1] + j * step, odd = (i + j) & 1;
          const tone = dark ? (odd ? 44 : 52) : (odd ? 214 : 226);
          polygon([[x, y, bottom], [x + step, y, bottom], [x + step, y + step, bottom],
            [x, y + step, bottom]], [tone, tone + 3, tone + 8], 1, list);
        }
      }
      for (const item of list) item[0] -= 1e6;  // below everything
    }
    function bodies(list) {
      const row = data.poses[frame], arrows = data.arrows[frame];
      for (const shape of data.shapes) {
        const b = 7 * shape.body, quat = row.slice(b + 3, b + 7).map((x) => x / 1e4);
        const at = row.slice(b, b + 3).map((x) => x / 1e4);
        const where = add(at, turn(quat, shape.pos));
        const [w, x, y, z] = quat, [W, X, Y, Z] = shape.quat;
        const q = [w * W - x * X - y * Y - z * Z, w * X + x * W + y * Z - z * Y,
          w * Y - x * Z + y * W + z * X, w * Z + x * Y - y * X + z * W];
        if (shape.kind === 'sphere') rod(where, where, shape.size[0], shape.colour, list);
        if (shape.kind === 'box') box(shape.size, where, q, shape.colour, list);
        if (shape.kind === 'capsule') {
          const half = turn(q, [0, 0, shape.size[1]]);
          rod(minus(where, half), add(where, half), shape.size[0], shape.colour, list);
        }
      }
      if (!arrows) return;
      for (let b = 0; b < arrows.length; b += 3) {
        const v = arrows.slice(b, b + 3).map((x) => x / 1e4);
        if (Math.hypot(...v) < 1e-3) continue;
        const from = row.slice(7 * b / 3, 7 * b / 3 + 3).map((x) => x / 1e4);
        const p = place(add(from, [0, 0, 0.12])), q = place(add(add(from, [0, 0, 0.12]), v));
        list.push([1e6, () => arrow(p, q)]);
      }
    }
    function arrow(p, q) {
      const long = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1;
      const x = (q[0] - p[0]) / long, y = (q[1] - p[1]) / long, head = Math.min(14, long);
      pen.strokeStyle = pen.fillStyle = '#e2570f';
      pen.lineWidth = 4;
      pen.beginPath();
      pen.moveTo(p[0], p[1]);
      pen.lineTo(q[0] - head * x, q[1] - head * y);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(q[0], q[1]);
      pen.lineTo(q[0] - head * (x - 0.5 * y), q[1] - head * (y + 0.5 * x));
      pen.lineTo(q[0] - head * (x + 0.5 * y), q[1] - head * (y - 0.5 * x));
      pen.fill();
    }
    function surface(list) {
      const row = data.vertices[frame], stress = data.stress[frame], t = data.triangles;
      const point = (i) => row.slice(3 * i, 3 * i + 3).map((x) => x / 1e4);
      for (let k = 0; k < t.length; k += 3) {
        const c = [point(t[k]), point(t[k + 1]), point(t[k + 2])];
        const n = cross(minus(c[1], c[0]), minus(c[2], c[0])), size = Math.hypot(...n) || 1;
        if (look(add(n, middle))[2] < 0) continue;
        const s = (stress[t[k]] + stress[t[k + 1]] + stress[t[k + 2]]) / 300;
        polygon(c, heat(Math.sqrt(s)), 0.8 + 0.3 * Math.max(0, dot(n, light) / size), list);
      }
    }
    function field() {
      const [nx, ny] = data.field_shape, text = data.field[frame];
      const image = pen.createImageData(nx, ny);
      for (let i = 0; i < nx; ++i) {
        for (let j = 0; j < ny; ++j) {
          const k = parseInt(text.substr(2 * (i * ny + j), 2), 16) / 127.5 - 1;
          const at = 4 * ((ny - 1 - j) * nx + i), pale = 1 - Math.abs(k);
          image.data.set(k > 0 ? [226, 87 + 150 * pale, 15 + 220 * pale, 255]
            : [23 + 205 * pale, 105 + 132 * pale, 196 + 44 * pale, 255], at);
        }
      }
      const small = document.createElement('canvas');
      small.width = nx;
      small.height = ny;
      small.getContext('2d').putImageData(image, 0, 0);
      const wide = Math.min(canvas.width, canvas.height * nx / ny), tall = wide * ny / nx;
      pen.imageSmoothingEnabled = true;
      pen.drawImage(small, (canvas.width - wide) / 2, (canvas.height - tall) / 2, wide, tall);
    }
    this.draw = (k) => {
      frame = k;
      canvas.width = canvas.clientWidth * (window.devicePixelRatio || 1);
      canvas.height = canvas.clientHeight * (window.devicePixelRatio || 1);
      pen.clearRect(0, 0, canvas.width, canvas.height);
      if (data.field.length) return field();
      const list = [];
      if (data.shapes.some((s) => s.kind === 'plane')) floor(list);
      if (data.poses.length) bodies(list);
      if (data.vertices.length) surface(list);
      list.sort((a, b) => a[0] - b[0]);
      for (const item of list) item[1]();
    };
    let from = null;
    canvas.addEventListener('pointerdown', (e) => {
      from = [e.clientX, e.clientY];
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener('pointerup', () => { from = null; });
    canvas.addEventListener('pointermove', (e) => {
      if (!from || data.field.length) return;
      angle -= 0.01 * (e.clientX - from[0]);
      tilt = Math.max(0, Math.min(1.5, tilt + 0.01 * (e.clientY - from[1])));
      from = [e.clientX, e.clientY];
      this.draw(frame);
    });
    this.data = data;
  }

  for (const figure of document.querySelectorAll('figure[data-scene]')) {
    const name = figure.dataset.scene;
    if (!result[name] || !result[name].scene.frames) continue;
    const scene = new Scene(figure), data = scene.data;
    scrub(name, data.frames, Math.min(8, Math.max(2, data.frames * data.seconds)), (k) => {
      scene.draw(k);
      return (k * data.seconds).toFixed(2) + ' s';
    });
    window.addEventListener('resize', () => scene.draw(
      Number(figure.querySelector('input').value)));
  }
})();
