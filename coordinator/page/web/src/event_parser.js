// SPDX-License-Identifier: Apache-2.0
// Reads server-sent events from pieces of text, cut anywhere.

// `onEvent` is called with the name and the data of each event; comments are left out.
export class EventParser {
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.rest = "";
  }

  push(text) {
    this.rest += text;
    let end;
    while ((end = this.rest.indexOf("\n\n")) >= 0) {
      this.readBlock(this.rest.slice(0, end));
      this.rest = this.rest.slice(end + 2);
    }
  }

  readBlock(block) {
    let name = "message";
    const data = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) {
        name = line.slice(7);
      } else if (line.startsWith("data: ")) {
        data.push(line.slice(6));
      }
    }
    if (data.length > 0) {
      this.onEvent(name, data.join("\n"));
    }
  }
}
