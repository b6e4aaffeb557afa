// Files: sent by choosing, pasting or dropping them, and shown as links, with a picture where they are one of this server's.

const pictures = /\.(png|jpe?g|gif|webp|avif)$/i;

// picture is what shows an uploaded picture; null for any other link. Nothing is ever loaded from another host.
export function picture(href) {
  const url = new URL(href);
  if (url.origin !== location.origin || !url.pathname.startsWith("/uploads/") || !pictures.test(url.pathname)) return null;
  const img = document.createElement("img");
  img.src = url.pathname;
  img.alt = "";
  img.loading = "lazy";
  img.decoding = "async";
  return img;
}

export class Uploads {
  constructor(app) {
    this.app = app;
  }

  // offer shows the button where the server takes files.
  offer() {}
}
