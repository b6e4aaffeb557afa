// SCRAM-SHA-256 (RFC 5802, RFC 7677): the client proves that it knows the password without sending
// it, and the server proves that it knows the password's verifier.

const fewest = 4096; // limits of the iterations that a server may request
const most = 1000000;

const utf8 = (text) => new TextEncoder().encode(text);
const encode = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

// usable reports whether the browser provides cryptography. Browsers do so only for secure
// contexts.
export const usable = () => !!globalThis.crypto?.subtle;

// prepared returns a password after SASLprep (RFC 4013).
export const prepared = (password) =>
  password
    .replace(/[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/g, " ")
    .replace(/[\u00ad\u034f\u1806\u180b-\u180d\u200c\u200d\u2060\ufe00-\ufe0f\ufeff]/g, "")
    .normalize("NFKC");

async function hmac(key, text) {
  const k = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return crypto.subtle.sign("HMAC", k, utf8(text));
}

async function salted(password, salt, iterations) {
  const key = await crypto.subtle.importKey("raw", utf8(password), "PBKDF2", false, ["deriveBits"]);
  return crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, key, 256);
}

export class Scram {
  // Only tests give a nonce.
  constructor(name, password, nonce = encode(crypto.getRandomValues(new Uint8Array(18)))) {
    this.password = prepared(password);
    this.nonce = nonce;
    this.bare = `n=${name.replace(/=/g, "=3D").replace(/,/g, "=2C")},r=${nonce}`;
    this.proven = false; // the server has proven that it knows the password
    this.expected = ""; // the expected server signature
  }

  // answer returns the response to a server message, "" for the initial one. It throws an error if
  // the server violates the protocol.
  async answer(said) {
    if (said === "") return `n,,${this.bare}`;
    const fields = new Map(said.split(",").map((f) => [f[0], f.slice(2)]));
    if (fields.has("v")) {
      this.proven = this.expected !== "" && fields.get("v") === this.expected;
      if (!this.proven) throw new Error("the server did not prove that it knows the password");
      return "";
    }
    return this.prove(said, fields.get("r") ?? "", fields.get("s") ?? "", Number(fields.get("i")));
  }

  async prove(said, nonce, salt, iterations) {
    if (!nonce.startsWith(this.nonce) || nonce === this.nonce || !(iterations >= fewest && iterations <= most)) throw new Error("the server's SCRAM message is invalid");
    const key = await salted(this.password, decode(salt), iterations);
    const [client, server] = [await hmac(key, "Client Key"), await hmac(key, "Server Key")];
    const last = `c=biws,r=${nonce}`;
    const all = `${this.bare},${said},${last}`;
    const signature = new Uint8Array(await hmac(await crypto.subtle.digest("SHA-256", client), all));
    this.expected = encode(await hmac(server, all));
    return `${last},p=${encode(new Uint8Array(client).map((b, i) => b ^ signature[i]))}`;
  }
}
