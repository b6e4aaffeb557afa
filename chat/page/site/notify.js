// Desktop notifications of messages to the user while the page does not have the focus.

// offer shows the button while the permission is undecided.
export function offer(button) {
  const draw = () => (button.hidden = !("Notification" in window) || !isSecureContext || Notification.permission !== "default");
  button.addEventListener("click", () => Notification.requestPermission().then(draw));
  draw();
}

export function notify(room, message, open) {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  try {
    const title = room.direct ? message.nick : `${message.nick} in ${room.name}`;
    const n = new Notification(title, { body: message.text.slice(0, 200), tag: room.name });
    n.onclick = () => {
      focus();
      open(room);
      n.close();
    };
  } catch {
    // some mobile browsers allow notifications only from service workers
  }
}
