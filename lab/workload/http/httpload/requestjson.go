package httpload

import "encoding/json"

// plainRequest has the fields of a Request without its methods.
type plainRequest Request

// MarshalJSON implements json.Marshaler. Bodies that are not UTF-8, which JSON strings cannot hold,
// are written in hexadecimal.
func (r Request) MarshalJSON() ([]byte, error) {
	r.encodeBodies()
	return json.Marshal(plainRequest(r))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Request) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*plainRequest)(r)); err != nil {
		return err
	}
	return r.decodeBodies()
}
