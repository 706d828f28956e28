export * from "npm:structured-headers@2.1.0";
