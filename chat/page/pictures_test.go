package page

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/chat/upload"
	"weir/internal/chromium"
)

// picture64 is a PNG of one pixel, in base64.
const picture64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Files can be chosen, pasted and dropped, and other users see the pictures. A file that is too
// large is refused with a message.
func TestUploadedPicturesAreShown(t *testing.T) {
	t.Parallel()
	h := filesHost(t, upload.Options{MaxBytes: 4096})
	ann := open(t)
	bob := ann.another()
	h.visit(ann, "ann", "correct-horse", "#a")
	ann.inRoom("#a")
	h.visit(bob, "guest", "", "#a")
	bob.inRoom("#a")
	if shown := chromium.Eval[bool](bob.Page, `document.querySelector("#attach").checkVisibility()`); shown {
		t.Error("the attach button: got it shown to a guest, want it hidden (uploads need an account)")
	}
	picture, err := base64.StdEncoding.DecodeString(picture64)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "böat (1).png")
	if err := os.WriteFile(file, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	ann.Until(`document.querySelector("#attach").checkVisibility()`)
	var root struct{ Root struct{ NodeID int } }
	ann.Call("DOM.getDocument", nil, &root)
	var input struct{ NodeID int }
	ann.Call("DOM.querySelector", map[string]any{"nodeId": root.Root.NodeID, "selector": "#files"}, &input)
	ann.Call("DOM.setFileInputFiles", map[string]any{"nodeId": input.NodeID, "files": []string{file}}, nil)
	ann.linked(1)
	give := `(() => { const d = new DataTransfer(); d.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q, { type: "image/png" }));
		document.querySelector("#say").dispatchEvent(new %s) })()`
	chromium.Eval[any](ann.Page, fmt.Sprintf(give, picture64, "pasted.png", `ClipboardEvent("paste", { clipboardData: d, bubbles: true })`))
	ann.linked(2)
	chromium.Eval[any](ann.Page, fmt.Sprintf(give, picture64, "dropped.png", `DragEvent("drop", { dataTransfer: d, bubbles: true })`))
	ann.linked(3)
	ann.Press("Enter")
	for _, b := range []*browser{ann, bob} {
		b.Until(`[...document.querySelectorAll("#log .message img")].filter((i) => i.complete && i.naturalWidth == 1).length == 3`)
	}
	chromium.Eval[any](ann.Page, fmt.Sprintf(give, base64.StdEncoding.EncodeToString(make([]byte, 5000)), "large.png", `DragEvent("drop", { dataTransfer: d, bubbles: true })`))
	ann.Until(`document.querySelector("#uploads .failed")?.textContent.startsWith("large.png was not sent: ")`)
	ann.picture("pictures")
	ann.Click("#uploads button")
	ann.Until(`!document.querySelector("#uploads li")`)
	bob.clean(h)
	for _, e := range ann.Errors() {
		t.Logf("the browser's console: %s", e) // a refused upload is logged
	}
}

// linked waits until the input has n links.
func (b *browser) linked(n int) {
	b.t.Helper()
	b.Until(fmt.Sprintf(`document.querySelector("#say").value.split("/file/").length == %d && !document.querySelector("#uploads li")`, n+1))
}
