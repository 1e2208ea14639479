package io.holdfast.redis.link;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.Settings;
import io.holdfast.Time;

/**
 * What every capability on Redis works with, made once by the facade.
 *
 * @param self this process's instance and incarnation
 * @param time this process's clocks: only for waiting and measuring; what decides about data is the server's time
 */
public record Client(RedisLink link, DutyRunner duties, Notices notices, HolderId self, Settings settings, Time time) {}
