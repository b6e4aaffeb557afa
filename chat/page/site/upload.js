// Files: sent by choosing, pasting or dropping them, and shown as links, with a picture where they
// are one of this server's.

import { button, element } from "./message.js";
import { fileName } from "./text.js";

const $ = (id) => document.getElementById(id);
const pictures = /\.(png|jpe?g|gif|webp|bmp)$/i;

// picture is what shows an uploaded picture; null for any other link. Nothing is ever loaded from
// another host.
export function picture(href) {
  const name = fileName(href);
  if (!pictures.test(name)) return null;
  const img = document.createElement("img");
  img.src = new URL(href).pathname;
  img.alt = `Picture ${name}`;
  img.loading = "lazy";
  img.addEventListener("error", () => img.remove()); // it was removed, or is none
  return img;
}

// disposition is the header that names a file.
const disposition = (name) => `attachment; filename="${name.replace(/[^ -~]|["\\]/g, "_")}"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*!]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)}`;

export class Uploads {
  // app = {client, shown(), write(text, room)}: what was uploaded is a link in the field of the
  // room in which that was begun.
  constructor(app) {
    this.app = app;
    this.waiting = []; // for a token: functions that take it, or why there is none
    $("attach").addEventListener("click", () => $("files").click());
    $("files").addEventListener("change", () => {
      this.send($("files").files);
      $("files").value = "";
    });
    $("say").addEventListener("paste", (e) => this.given(e, e.clipboardData));
    addEventListener("dragover", (e) => this.over(e));
    addEventListener("dragleave", (e) => e.relatedTarget ?? document.body.classList.remove("dropping"));
    addEventListener("drop", (e) => {
      document.body.classList.remove("dropping");
      this.given(e, e.dataTransfer);
    });
  }

  get offered() {
    const { client } = this.app;
    return client.ready && client.account !== "" && (client.supported.has("draft/FILEHOST") || client.supported.has("soju.im/FILEHOST"));
  }

  // offer shows the button where the server takes files.
  offer() {
    $("attach").hidden = !this.offered;
  }

  over(e) {
    if (!e.dataTransfer?.types.includes("Files")) return;
    e.preventDefault();
    document.body.classList.toggle("dropping", this.offered);
  }

  // given takes files that were pasted or dropped.
  given(e, data) {
    if (!data?.files.length) return;
    e.preventDefault(); // or the browser would go to the file
    if (this.offered) this.send(data.files);
    else this.app.wrong(this.app.shown(), "Files can be sent by those who have an account, where the server takes them.");
  }

  send(files) {
    for (const file of files) this.one(file, this.app.shown());
  }

  async one(file, room) {
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

  // token asks the server for a permission to upload one file.
  token() {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.app.client.send("FILEHOST", ["TOKEN"]);
    });
  }

  // answer takes a token, or why there is none.
  answer(token, why) {
    const first = this.waiting.shift();
    if (why) first?.reject(new Error(why));
    else first?.resolve(token);
  }

  // lost: the answers that are waited for will not come.
  lost() {
    while (this.waiting.length > 0) this.answer("", "the connection was lost.");
  }
}

// post sends a file, and gives its link.
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
