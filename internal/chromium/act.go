package chromium

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Go opens a URL and waits until the page has loaded.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.Call("Page.navigate", map[string]any{"url": url}, nil)
	url, _, _ = strings.Cut(url, "#") // the page may remove its fragment
	p.Until(fmt.Sprintf(`location.href.startsWith(%q) && document.readyState == "complete"`, url))
}

// Eval returns the value of an expression in the page; of a promise, its result.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	var r struct {
		Result           struct{ Value T }
		ExceptionDetails json.RawMessage
	}
	p.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	return r.Result.Value
}

// Until waits until an expression is true in the page.
func (p *Page) Until(expression string) {
	p.t.Helper()
	for end := time.Now().Add(StepTimeout); !Eval[bool](p, "!!("+expression+")"); time.Sleep(40 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("still not: %s\n%s\n%q", expression, Eval[string](p, "document.body.innerText"), p.Errors())
		}
	}
}

// Click clicks the centre of an element.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Hold(selector)()
}

// Hold presses the mouse's button on the middle of an element. The result releases it.
func (p *Page) Hold(selector string) (release func()) {
	p.t.Helper()
	p.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	at := Eval[struct{ X, Y float64 }](p, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "nearest", inline: "nearest"});
		const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2} })()`, selector))
	p.Call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at.X, "y": at.Y}, nil)
	button := func(event string) {
		p.Call("Input.dispatchMouseEvent", map[string]any{"type": event, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
	button("mousePressed")
	return func() { button("mouseReleased") }
}

// Write types text into the focused element.
func (p *Page) Write(text string) {
	p.t.Helper()
	p.Call("Input.insertText", map[string]any{"text": text}, nil)
}

// codes are the virtual key codes of keys that the browser itself handles.
var codes = map[string]int{"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46}

// Press presses a key, with its modifiers (Alt, Control, Meta, Shift) in front: "Enter",
// "Alt+ArrowUp", "Shift+Tab".
func (p *Page) Press(keys string) {
	p.t.Helper()
	held := 0
	parts := strings.Split(keys, "+")
	for _, name := range parts[:len(parts)-1] {
		held |= map[string]int{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}[name]
	}
	key := parts[len(parts)-1]
	params := map[string]any{"key": key, "code": key, "modifiers": held}
	if code := codes[key]; code != 0 {
		params["windowsVirtualKeyCode"] = code
	}
	switch {
	case key == "Enter":
		params["text"] = "\r"
	case key == "Space":
		params["key"], params["text"] = " ", " "
	case len(key) == 1:
		params["code"], params["windowsVirtualKeyCode"] = "Key"+strings.ToUpper(key), int(strings.ToUpper(key)[0])
		if held&^8 == 0 {
			params["text"] = key
		}
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		params["type"] = kind
		p.Call("Input.dispatchKeyEvent", params, nil)
	}
}

// Size sets the window's size in pixels, and the light or dark colour scheme.
func (p *Page) Size(width, height int, dark bool) {
	p.t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	p.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	p.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Shot returns a picture of the whole page as PNG.
func (p *Page) Shot() []byte {
	p.t.Helper()
	var r struct{ Data string }
	p.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &r)
	picture, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return picture
}
