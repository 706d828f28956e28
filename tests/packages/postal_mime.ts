// Parses received messages as a mail program does.
export { default } from "npm:postal-mime@4.0.0";
