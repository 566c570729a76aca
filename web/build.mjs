// Bundles the page into dist, which is committed: `go build` needs no node. With --check it writes nothing, and fails
// where dist is not what it would write.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";

process.chdir(import.meta.dirname);
const settings = {
	outdir: "dist",
	bundle: true,
	minify: true,
	write: false,
	target: ["es2022"],
	legalComments: "inline", // what is not ours says whose it is
	charset: "utf8",
	logLevel: "warning",
};
const bundles = await Promise.all([
	build({ ...settings, entryPoints: { app: "src/main.ts", style: "src/style/all.css" }, format: "iife" }),
	build({ ...settings, entryPoints: { katex: "src/katex.ts" }, format: "esm" }), // loaded with the first formula
]);
const made = bundles.flatMap(({ outputFiles }) => outputFiles).map((f) => [f.path.split(/[\\/]/).pop(), f.text]);
const { "style.css": style, ...scripts } = Object.fromEntries(made);
const page = await readFile("src/index.html", "utf8");
const files = [
	["dist/index.html", page.replace("<!-- style -->", () => `<style>${style}</style>`)], // in the page, it costs no round trip of its own
	...Object.entries(scripts).map(([name, text]) => [`dist/${name}`, text]),
];
let stale = false;
await mkdir("dist", { recursive: true });
for (const [name, text] of files) {
	if (process.argv.includes("--check")) {
		if ((await readFile(name, "utf8").catch(() => "")) === text) continue;
		console.error(`web/${name} is not what its sources make: run \`npm run build --prefix web\``);
		stale = true;
	} else {
		await writeFile(name, text);
	}
}
process.exit(stale ? 1 : 0);
