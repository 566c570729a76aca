// The bundle that maths.ts loads.
export { default } from "katex";
