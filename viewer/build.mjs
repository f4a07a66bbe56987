// Makes one file of the viewer: the page with its script and style inside. `node build.mjs OUT`
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? `${here}/../build/python/cycloid/viewer.html`;
const result = await build({
  entryPoints: [`${here}/src/main.js`, `${here}/src/style.css`],
  bundle: true,
  minify: true,
  write: false,
  outdir: "out",
  format: "iife",
  target: "es2022",
  legalComments: "inline",
  logLevel: "warning",
});
const text = (name) => result.outputFiles.find((file) => file.path.endsWith(name)).text;
const page = readFileSync(`${here}/src/page.html`, "utf8");
// Functions, so that a $ in the text stays one.
const whole = page
  .replace("/* style */", () => text("style.css"))
  .replace("/* script */", () => text("main.js").replaceAll("</script", "<\\/script"));
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, whole);
