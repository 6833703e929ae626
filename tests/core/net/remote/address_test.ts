import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { parseIpAddress } from "../../../../core/net/addresses/ip_address.ts";
import { isPublicAddress } from "../../../../core/net/remote/address.ts";
import { parseRemoteUrl } from "../../../../core/net/remote/remote_url.ts";

const publicAddresses = [
  "1.1.1.1",
  "8.8.8.8",
  "93.184.215.14",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.1",
  "169.253.255.255",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001:81b::200e",
  "2001:4860:4860::8888",
  "2003::1",
];

const refusedAddresses = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.0",
  "10.255.255.255",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.255",
  "168.63.129.16",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.192",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.7",
  "203.0.113.7",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::8.8.8.8",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:7f00:1",
  "::ffff:0:8.8.8.8",
  "64:ff9b::7f00:1",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::a00:1",
  "100::1",
  "2001::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "2001:2::1",
  "2001:10::1",
  "2001:20::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:808:808::1",
  "2620:4f:8000::1",
  "2a00:1450::5efe:127.0.0.1",
  "2a00:1450::200:5efe:8.8.8.8",
  "3fff::1",
  "5f00::1",
  "fc00::1",
  "fd12:3456:789a::1",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
];

const notAddresses = [
  "",
  "localhost",
  "example.com",
  "1.2.3",
  "1.2.3.4.5",
  "256.1.1.1",
  "01.1.1.1",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "2130706433",
  "1.1.1.1 ",
  "1.1.1.-1",
  ":::",
  "1::2::3",
  "12345::",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "2606:4700::1.2.3",
  "2606:4700::1.2.3.400",
  "[2606:4700::1]",
  "2606:4700::g",
];

Deno.test("public unicast addresses may be fetched from", () => {
  for (const address of publicAddresses) assert(isPublicAddress(address), address);
});

Deno.test("private, local, reserved and tunnelled addresses are refused, and so is other text", () => {
  for (const address of refusedAddresses) {
    assert(!isPublicAddress(address), address);
    const isZoned = address.includes("%");
    assertEquals(parseIpAddress(address) === undefined, isZoned, `not understood: ${address}`);
  }
  for (const text of notAddresses) {
    assertEquals(parseIpAddress(text), undefined, text);
    assert(!isPublicAddress(text), text);
  }
});

Deno.test("every IPv4 address inside IPv6 is refused, in each of the forms that carry one", () => {
  fc.assert(fc.property(fc.ipV4(), (v4) => {
    const [a, b, c, d] = v4.split(".").map(Number);
    const hex = [a! * 256 + b!, c! * 256 + d!].map((part) => part.toString(16)).join(":");
    const carriers = [
      `::${v4}`,
      `::ffff:${v4}`,
      `::ffff:${hex}`,
      `64:ff9b::${hex}`,
      `2002:${hex}::1`,
      `2001:0:${hex}::`,
      `2a00::5efe:${hex}`,
    ];
    for (const address of carriers) assert(!isPublicAddress(address), address);
  }));
});

Deno.test("parseRemoteUrl() takes plain web addresses", () => {
  const good = [
    "http://example.com/a.png",
    "https://example.com:8443/a?b=c#d",
    "HTTPS://EXAMPLE.com:443/",
    "http://1.1.1.1:8080/x",
    "https://[2606:4700:4700::1111]/x",
    "https://bücher.example/ä.png",
  ];
  for (const text of good) assert(parseRemoteUrl(text) instanceof URL, text);
});

Deno.test("parseRemoteUrl() detects a private address in every notation", () => {
  const inner = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://0/",
    "http://0.0.0.0/",
    "http://127.0.0.1./",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://a.localhost/",
    "http:\\\\127.0.0.1\\",
    "http:127.0.0.1",
    " http://127.0.0.1/",
  ];
  for (const text of inner) {
    assertEquals(parseRemoteUrl(text), "must point to a public address", text);
  }
});

Deno.test("parseRemoteUrl() refuses other schemes, credentials, odd ports and nonsense", () => {
  const wrong: [string, ReturnType<typeof parseRemoteUrl>][] = [
    ["file:///etc/passwd", "must begin with http:// or https://"],
    ["gopher://example.com/", "must begin with http:// or https://"],
    ["ftp://example.com/a.png", "must begin with http:// or https://"],
    ["javascript:alert(1)", "must begin with http:// or https://"],
    ["http://user@example.com/", "must not carry a user name or password"],
    ["http://:pw@example.com/", "must not carry a user name or password"],
    ["http://example.com:22/", "must use port 80, 443, 8080 or 8443"],
    ["http://example.com:6379/", "must use port 80, 443, 8080 or 8443"],
    ["http://256.256.256.256/", "is not a URL"],
    ["http://", "is not a URL"],
    ["example.com/a.png", "is not a URL"],
    [`https://example.com/${"a".repeat(8_200)}`, "is too long"],
  ];
  for (const [text, problem] of wrong) assertEquals(parseRemoteUrl(text), problem, text);
});
