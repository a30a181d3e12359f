/**
 * Linux `statfs` type numbers of file systems whose locks or shared memory cannot be relied on:
 * SQLite's write-ahead log on them ends in I/O errors or corruption (field report E17).
 * FUSE is one number for sshfs, s3fs and local ones alike; it counts as a network.
 * @see https://man7.org/linux/man-pages/man2/statfs.2.html
 * @see https://sqlite.org/wal.html (all processes must be on the same host)
 */
const NETWORK_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0x517b, 'smb'],
  [0xfe534d42, 'smb2'],
  [0xff534d42, 'cifs'],
  [0x01021997, '9p'],
  [0x65735546, 'fuse (sshfs and similar)'],
  [0x5346414f, 'afs'],
  [0x73757245, 'coda'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x47504653, 'gpfs'],
  [0x786f4256, 'vboxsf'],
]);

/** Name of the network file system with this `statfs` type; undefined for a local one. */
export function networkFileSystem(type: number): string | undefined {
  // The kernel's number is 32 bits; where it arrives sign-extended it is the same file system.
  return NETWORK_TYPES.get(type >>> 0);
}
