// Registration: capabilities first, then a login, a new account, or neither. In all functions c is
// the Client.

import { Scram, usable } from "./scram.js";
import { base64, chunks } from "./irc.js";

const wanted = ["message-tags", "server-time", "batch", "labeled-response", "echo-message", "standard-replies", "account-tag", "multi-prefix",
  "away-notify", "setname", "cap-notify", "draft/chathistory", "draft/event-playback", "draft/read-marker", "draft/multiline",
  "draft/message-redaction", "draft/account-registration", "draft/search"];

const refusals = {
  INVALID_EMAIL: "This invite code is invalid: it was used, has expired, or has a typing error.",
  ACCOUNT_EXISTS: "This name is in use. Choose another one, or log in with your account.",
};

// negotiate requests the capabilities that the page wants and the server offers.
export function negotiate(c) {
  const ask = wanted.filter((name) => c.offered.has(name));
  if (c.kind !== "guest") ask.push("sasl");
  c.send("CAP", ["REQ", ask.join(" ")]);
}

// startLogin starts the login or registration that the user chose.
export function startLogin(c) {
  if (c.kind === "invite") c.send("REGISTER", [c.name, c.invite || "*", c.password]);
  else if (c.kind === "account") startSasl(c);
  else c.send("CAP", ["END"]);
}

// startSasl starts SCRAM-SHA-256, or PLAIN if the browser has no Web Crypto.
function startSasl(c) {
  const offered = (c.offered.get("sasl") ?? "").toUpperCase().split(/[=,]/);
  c.challengeText = "";
  c.scram = usable() ? new Scram(c.name, c.password) : null;
  if (c.scram && !offered.includes("SCRAM-SHA-256")) c.refuse("The server does not support SCRAM-SHA-256.");
  else c.send("AUTHENTICATE", [c.scram ? "SCRAM-SHA-256" : "PLAIN"]);
}

// answerChallenge answers a challenge of the server.
export async function answerChallenge(c, part) {
  if (part !== "+") c.challengeText += part;
  if (part.length === 400) return;
  const { scram, connectionEpoch } = c;
  const said = atob(c.challengeText);
  c.challengeText = "";
  try {
    const answer = scram ? await scram.answer(said) : `\0${c.name}\0${c.password}`;
    if (connectionEpoch !== c.connectionEpoch) return; // the connection was lost meanwhile
    for (const piece of answer === "" ? ["+"] : chunks(base64(answer))) c.send("AUTHENTICATE", [piece]);
  } catch (e) {
    c.refuse(`The login failed: ${e.message}.`);
  }
}

// loggedIn handles the end of the SASL exchange.
export function loggedIn(c) {
  if (c.scram && !c.scram.proven) c.refuse("The server did not prove that it knows the password: it may be an impostor.");
  else c.send("CAP", ["END"]);
}

// registered handles a successful REGISTER: the client is logged in to the new account.
export function registered(c) {
  Object.assign(c, { kind: "account", invite: "" });
  c.send("CAP", ["END"]);
}

export const notRegistered = (c, code, text) => c.refuse(refusals[code] ?? `The account was not created: ${text}`);
