// A real mail server in the process, which can also fail.
export * from "npm:smtp-server@3.21.6";
