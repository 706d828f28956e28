/** Networks group the addresses of one customer of an internet provider. */
import { assertEquals } from "@std/assert";
import { networkOf } from "../../../../domain/core/network.ts";

Deno.test("a network is an IPv4 address or a /64 of IPv6", () => {
  const networks: readonly (readonly [string, string])[] = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["2001:db8:1:2:3::", "2001:db8:1:2::/64"],
  ];
  for (const [address, network] of networks) assertEquals(networkOf(address), network, address);
});
