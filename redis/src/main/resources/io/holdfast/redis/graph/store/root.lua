#!lua flags=allow-oom
-- Lets roots name other values, or none: all of these changes, or none. What they named is queued to be given up.
-- Statuses: OK; CHANGED: a root is not at the version expected; GONE: a target has ended; STALE: after valid-until.
-- Repeat: answers OK, as the root is at its new version already; a late one finds another version, or is STALE.
--   roots  hash  name -> VERSION ID BEFORE SET-MS BY; BEFORE is the id before, '-' if there was none: repair goes back
--                to it if a torn call named what is not there
-- The version of a root that is not there is that of the latest drop of any root.
-- KEYS  meta roots lease small doomed noted c…
-- ARGV  valid-until version by name expected target handed…
-- REPLY status which version
-- Arguments of each change: name, expected version, target ('' drops), 1 if the lease hands its hold over. Each change
-- with a target has a key c.
--@include call.lua
--@include roots.lua
local meta, roots, lease, small, doomed, noted = unpack(KEYS, 1, 6)
local valid_until, version, by = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local call, refused = begin(meta)
if refused then return refused end
local now = clock()
local changes, segments, handed, next_key = {}, {}, {}, 7
for at = 4, #ARGV, 4 do
  local change, which = root_change(call, roots, version, unpack(ARGV, at, at + 2)), (at - 4) / 4
  local target, c = change.target, nil
  if target ~= '' then
    c, next_key = KEYS[next_key], next_key + 1
  end
  if change.is == version then
    change = nil -- done before
  elseif change.is ~= change.expected or (target == '' and not change.old) then
    return {'CHANGED', which, change.is}
  elseif ARGV[at + 3] == '1' and not handed[target] and redis.call('HEXISTS', lease, target) == 1 then
    handed[target] = true
  elseif target ~= '' then
    local name = string.sub(target, 1, 16)
    segments[name] = segments[name] or load_segment(small, name, {c = c})
    if raise_holds(segments[name], string.sub(target, 18))[1] then
      return {'GONE', which, change.is}
    end
  end
  changes[#changes + 1] = change
end
if not changes[1] then
  return {'OK', 0, version}
elseif now > valid_until then
  return {'STALE', 0, ''}
end
open_tally(call)
for _, seg in pairs(segments) do
  save_segment(seg)
end
local work = new_work()
for _, change in ipairs(changes) do
  write_root(call, roots, change, now, by)
  give_up_old(work, change)
end
queue_work(call, doomed, work)
for target in pairs(handed) do
  note(string.sub(target, 1, 16))
  redis.call('HDEL', lease, target)
end
close_tally(call, noted)
return {'OK', 0, version}
