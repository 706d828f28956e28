/** Handles of a store of which a test replaces some methods: to count, to hold or to fail calls. */
export function replaced<T extends object>(
  target: T,
  methods: Partial<Record<keyof T, unknown>>,
): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const member = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
