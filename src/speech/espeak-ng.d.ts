declare module "espeak-ng" {
  type FileSystem = { writeFile(path: string, data: Uint8Array): void; readFile(path: string): Uint8Array };
  type Settings = {
    arguments: string[];
    preRun: ((module: { FS: FileSystem }) => void)[];
    print(line: string): void;
    printErr(line: string): void;
  };
  export default function createEspeak(settings: Settings): Promise<{ FS: FileSystem }>;
}
