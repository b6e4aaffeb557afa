// Desktop notifications of messages to the user while the page does not have the focus.

// setUpAlerts makes a button ask for the permission to notify. It is shown while the user has not
// decided.
export function setUpAlerts(button) {
  const draw = () => (button.hidden = !("Notification" in window) || !isSecureContext || Notification.permission !== "default");
  button.addEventListener("click", () => Notification.requestPermission().then(draw));
  draw();
}

// notify shows a notification if the user permits it. A click on it opens the room by open(room).
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
