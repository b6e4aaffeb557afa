// Uploads: files can be chosen, pasted or dropped. Their links are shown with a picture if they are
// on this server.

import { button, element } from "./message.js";
import { fileName } from "./text.js";

const $ = (id) => document.getElementById(id);
const pictures = /\.(png|jpe?g|gif|webp|bmp)$/i;

// picture returns an element for an uploaded picture; null for any other link. Nothing is ever
// loaded from another host.
export function picture(href) {
  const name = fileName(href);
  if (!pictures.test(name)) return null;
  const img = document.createElement("img");
  img.src = new URL(href).pathname;
  img.alt = `Picture ${name}`;
  img.loading = "lazy";
  img.addEventListener("error", () => img.remove()); // removed, or not a picture
  return img;
}

// disposition returns the Content-Disposition header for a file name.
const disposition = (name) => `attachment; filename="${name.replace(/[^ -~]|["\\]/g, "_")}"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*!]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)}`;

export class Uploads {
  // app = {client, shown(), write(text, room)}. The link of an uploaded file is written to the
  // input of the room in which the upload was started.
  constructor(app) {
    this.app = app;
    this.waiting = []; // callers waiting for a token: {resolve, reject}
    $("attach").addEventListener("click", () => $("files").click());
    $("files").addEventListener("change", () => {
      this.send($("files").files);
      $("files").value = "";
    });
    $("say").addEventListener("paste", (e) => this.uploadFrom(e, e.clipboardData));
    addEventListener("dragover", (e) => this.over(e));
    addEventListener("dragleave", (e) => e.relatedTarget ?? document.body.classList.remove("dropping"));
    addEventListener("drop", (e) => {
      document.body.classList.remove("dropping");
      this.uploadFrom(e, e.dataTransfer);
    });
  }

  // accepted reports whether the server accepts files from this user.
  get accepted() {
    const { client } = this.app;
    return client.ready && client.account !== "" && (client.supported.has("draft/FILEHOST") || client.supported.has("soju.im/FILEHOST"));
  }

  // updateButton shows the button if the server accepts files from this user.
  updateButton() {
    $("attach").hidden = !this.accepted;
  }

  over(e) {
    if (!e.dataTransfer?.types.includes("Files")) return;
    e.preventDefault();
    document.body.classList.toggle("dropping", this.accepted);
  }

  // uploadFrom uploads pasted or dropped files.
  uploadFrom(e, data) {
    if (!data?.files.length) return;
    e.preventDefault(); // otherwise the browser would open the file
    if (this.accepted) this.send(data.files);
    else this.app.showError(this.app.shown(), "Uploads need an account, and a server that accepts files.");
  }

  send(files) {
    for (const file of files) this.upload(file, this.app.shown());
  }

  async upload(file, room) {
    const line = element("li");
    const [name, bar] = [element("span", "file", file.name), document.createElement("progress")];
    bar.setAttribute("aria-label", `Sending ${file.name}`);
    const request = new XMLHttpRequest();
    const drop = button("", "Cancel", `Cancel ${file.name}`, () => (request.abort(), line.remove()));
    line.append(name, bar, drop);
    $("uploads").append(line);
    try {
      const link = await post(request, file, await this.token(), (share) => (bar.value = share));
      line.remove();
      if (room) this.app.write(link, room);
    } catch (e) {
      bar.remove();
      name.className = "file failed";
      name.textContent = `${file.name} was not sent: ${e.message}`;
      name.setAttribute("role", "alert");
      drop.textContent = "Close";
    }
  }

  // token requests a token for the upload of one file.
  token() {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.app.client.send("FILEHOST", ["TOKEN"]);
    });
  }

  // answer resolves the oldest request for a token, or rejects it with an error.
  answer(token, why) {
    const first = this.waiting.shift();
    if (why) first?.reject(new Error(why));
    else first?.resolve(token);
  }

  // lost rejects all requests for a token.
  lost() {
    while (this.waiting.length > 0) this.answer("", "the connection was lost.");
  }
}

// post uploads a file and returns its link.
function post(request, file, token, progress) {
  return new Promise((resolve, reject) => {
    request.open("POST", "upload");
    request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.setRequestHeader("Content-Disposition", disposition(file.name));
    request.upload.onprogress = (e) => e.lengthComputable && progress(e.loaded / e.total);
    request.onload = () => {
      const link = request.getResponseHeader("Location");
      if (request.status === 201 && link) resolve(new URL(link, location.href).href);
      else reject(new Error(request.responseText.trim() || `the server answered ${request.status}.`));
    };
    request.onerror = () => reject(new Error("the connection was lost."));
    request.send(file);
  });
}
