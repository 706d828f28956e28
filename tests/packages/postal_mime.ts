export { default } from "npm:postal-mime@4.0.0";
