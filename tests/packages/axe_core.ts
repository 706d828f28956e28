// Finds barriers for people with a screen reader or a keyboard.
export { default } from "npm:axe-core@4.14.1/axe.min.js" with { type: "text" };
