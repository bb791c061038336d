import { expect } from "chai";
import { onEachBackend, query } from "./support/backends.js";
import { expectIssues, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { ownerId } from "./support/rows.js";

const LISTS = [
  { path: "/v1/qr", table: "qr_codes", id: "short_id", defaultLimit: 20, make: newQr },
  { path: "/v1/agents", table: "agents", id: "id", defaultLimit: 50, make: newAgent },
];
const MADE = 55;

onEachBackend("lists", (backend) => {
  for (const { path, table, id, defaultLimit, make } of LISTS) {
    describe(path, () => {
      let owner: TestOwner;
      let newestFirst: { created_at: string; name: string }[];
      const list = async (parameters = "") => expectOk(await owner.api.get(path + parameters));

      before(async () => {
        owner = await newOwner(backend);
        const made = [];
        for (let index = 0; index < MADE; index++) made.push(await make(owner, { name: `n ${index}` }));
        newestFirst = made.toReversed();
      });

      it("are newest first and stable between pages, with the default limit", async () => {
        expect(await list()).to.deep.equal(newestFirst.slice(0, defaultLimit));
        expect(await list("?limit=100")).to.deep.equal(newestFirst);
        const pages = [];
        for (let offset = 0; offset < MADE; offset += 7) pages.push(...(await list(`?limit=7&offset=${offset}`)));
        expect(pages).to.deep.equal(newestFirst);
        expect(await list("?offset=50")).to.deep.equal(newestFirst.slice(50));
        expect(await list(`?limit=1&offset=${MADE - 1}`)).to.deep.equal(newestFirst.slice(-1));
      });

      it("are empty past the end, for a new owner, and see nobody else's", async () => {
        for (const offset of [String(MADE), "2147483648", "4294967296", "9007199254740991"])
          expect(await list(`?offset=${offset}`), offset).to.deep.equal([]);
        const stranger = await newOwner(backend);
        expect(expectOk(await stranger.api.get(path))).to.deep.equal([]);
      });

      it("fall back to the order of making within one millisecond", async () => {
        const same = await newOwner(backend);
        const made = [];
        for (let index = 0; index < 9; index++) made.push((await make(same))[id]);
        await query(same.running, `UPDATE ${table} SET created_at = '2026-01-01 00:00:00.000' WHERE owner_id = ?`, [
          await ownerId(same),
        ]);
        const listed = [];
        for (const offset of [0, 4, 8])
          listed.push(...expectOk(await same.api.get(`${path}?limit=4&offset=${offset}`)));
        expect(listed.map((row) => row[id])).to.deep.equal(made.toReversed());
      });

      it("keep their place when a resource changes", async () => {
        const moved = await newOwner(backend);
        const made = [];
        for (let index = 0; index < 3; index++) made.push((await make(moved))[id]);
        expectOk(await moved.api.patch(`${path}/${made[0]}`, { name: "touched last" }, ifMatch(1)));
        expectOk(await moved.api.patch(`${path}/${made[1]}`, { is_active: false }, ifMatch(1)));
        const ids = async () => expectOk(await moved.api.get(path)).map((row: Record<string, unknown>) => row[id]);
        expect(await ids(), "an inactive one is not listed").to.deep.equal([made[2], made[0]]);
        expectOk(await moved.api.patch(`${path}/${made[1]}`, { is_active: true }, ifMatch(2)));
        expect(await ids()).to.deep.equal(made.toReversed());
        expectOk(await moved.api.delete(`${path}/${made[2]}`, ifMatch(1)));
        expect(await ids()).to.deep.equal([made[1], made[0]]);
      });

      it("take limit 1 to 100, offset from 0, and nothing else", async () => {
        expect(await list("?limit=1")).to.have.length(1);
        expect(await list("?limit=100&offset=0")).to.have.length(MADE);
        const refused: [string, string][] = [
          ...[
            "0",
            "101",
            "-1",
            "1.5",
            "",
            "abc",
            "1e1",
            "%2B1",
            "0x10",
            "%201",
            "9007199254740992",
            "9".repeat(400),
          ].map((value): [string, string] => [`limit=${value}`, "limit"]),
          ...["-1", "1.5", "", "null", "9007199254740992", "%D9%A1"].map((value): [string, string] => [
            `offset=${value}`,
            "offset",
          ]),
          ["limit=5&limit=5", "limit"],
          ["offset=1&offset=2", "offset"],
          ["Limit=5", "Limit"],
          ["limit[]=5", "limit[]"],
          ["cursor=1", "cursor"],
          ["limit=5&idempotency_key=k", "idempotency_key"],
        ];
        for (const [parameters, name] of refused) {
          const issues = expectIssues(await owner.api.get(`${path}?${parameters}`));
          expect(issues, parameters).to.have.length(1);
          expect(issues[0], parameters).to.include({ location: "query", path: name });
        }
      });
    });
  }

  it("of agents hold inactive ones only with include_inactive", async () => {
    const owner = await newOwner(backend);
    const on = await newAgent(owner);
    const off = await newAgent(owner, { is_active: false });
    const list = async (parameters: string) => expectOk(await owner.api.get(`/v1/agents${parameters}`));
    for (const no of ["", "?include_inactive=false", "?include_inactive=0"])
      expect(await list(no), no).to.deep.equal([on]);
    for (const yes of ["?include_inactive=true", "?include_inactive=1"])
      expect(await list(yes), yes).to.deep.equal([off, on]);
    expect(await list("?include_inactive=true&limit=1&offset=1")).to.deep.equal([on]);
    for (const value of ["TRUE", "yes", "", "2", "null", "constructor", "true%20", "true&include_inactive=true"]) {
      const issues = expectIssues(await owner.api.get(`/v1/agents?include_inactive=${value}`));
      expect(issues[0], value).to.include({ location: "query", path: "include_inactive" });
    }
    expect(expectIssues(await owner.api.get("/v1/qr?include_inactive=true"))[0]).to.include({ location: "query" });
  });
});
