import { assert, assertEquals } from "../../../support/assert.ts";
import { addressBlock } from "../../../../core/net/addresses/ip_address.ts";
import { isAddressAllowed, isAddressRange } from "../../../../core/people/api_keys/api_key.ts";

Deno.test("a range allows exactly the addresses in it, in any notation", () => {
  const cases: readonly (readonly [range: string, inside: string[], outside: string[]])[] = [
    ["203.0.113.7", ["203.0.113.7", "::ffff:203.0.113.7", "::FFFF:cb00:7107"], ["203.0.113.8"]],
    ["10.1.128.0/17", ["10.1.128.0", "10.1.255.255"], ["10.1.127.255", "10.2.128.0"]],
    ["10.9.9.9/8", ["10.0.0.0"], ["11.0.0.0", "::a00:0"]],
    ["0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::1", "2001:db8::1"]],
    ["::/0", ["::1", "2001:db8::1"], ["10.0.0.1", "::ffff:10.0.0.1"]],
    ["2001:db8::/33", ["2001:db8::", "2001:DB8:7fff::1"], ["2001:db8:8000::", "2001:db9::"]],
    ["2001:db8::1", ["2001:db8:0:0:0:0:0:1"], ["2001:db8::2"]],
  ];
  for (const [range, inside, outside] of cases) {
    assert(isAddressRange(range), range);
    for (const address of inside) assert(isAddressAllowed(address, [range]), `${address} ${range}`);
    for (const address of outside) {
      assert(!isAddressAllowed(address, [range]), `${address} ${range}`);
    }
  }
  assert(isAddressAllowed("10.0.0.1", ["2001:db8::/32", "10.0.0.1"]), "one of several");
});

Deno.test("text that is not a range is refused and allows nothing", () => {
  for (
    const text of [
      "",
      "10.0.0",
      "010.0.0.1",
      "10.0.0.256",
      "10.0.0.0/33",
      "10.0.0.0/",
      "10.0.0.0/-1",
      "10.0.0.0/8/8",
      "::ffff:10.0.0.0/104",
      "2001:db8::/129",
      "2001:db8::1::2",
      "1:2:3:4:5:6:7",
      "fe80::1%eth0",
      "localhost",
    ]
  ) {
    assert(!isAddressRange(text), text);
    assert(!isAddressAllowed("10.0.0.1", [text]), text);
  }
  assert(!isAddressAllowed("localhost", ["0.0.0.0/0", "::/0"]), "a client without an address");
});

Deno.test("all addresses of an IPv6 household count as one, in any notation", () => {
  for (
    const [one, other] of [
      ["2001:db8:0:1::1", "2001:0DB8::1:ffff:0:0:9"],
      ["2001:db8::", "2001:db8::1"],
      ["fe80::1%eth0", "fe80::2"],
    ] as const
  ) assertEquals(addressBlock(one), addressBlock(other), one);
  assert(addressBlock("2001:db8:0:1::1") !== addressBlock("2001:db8:0:2::1"));
  assert(addressBlock("203.0.113.1") !== addressBlock("203.0.113.2"));
});
