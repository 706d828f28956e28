// Property tests with random inputs, shrunk to the smallest failing one.
export * from "npm:fast-check@4.10.2";
export { default } from "npm:fast-check@4.10.2";
