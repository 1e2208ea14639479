package io.holdfast.redis.link;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.Settings;
import io.holdfast.Time;
import java.security.SecureRandom;
import java.util.random.RandomGenerator;

/**
 * What every capability on Redis works with, made once by the facade.
 *
 * @param self this process's instance and incarnation
 * @param time this process's clocks: only for waiting and measuring; what decides about data is the server's time
 * @param random where incarnations and jitter are drawn from
 * @param opened what was started with it and is closed with it
 */
public record Client(
        RedisLink link,
        DutyRunner duties,
        Notices notices,
        HolderId self,
        Settings settings,
        Time time,
        RandomGenerator random,
        Opened opened) {

    /** A client that draws from the system's source of random numbers. */
    public Client(RedisLink link, DutyRunner duties, Notices notices, HolderId self, Settings settings, Time time) {
        this(link, duties, notices, self, settings, time, new SecureRandom());
    }

    /** A client that draws incarnations and jitter from the given source. */
    public Client(
            RedisLink link,
            DutyRunner duties,
            Notices notices,
            HolderId self,
            Settings settings,
            Time time,
            RandomGenerator random) {
        this(link, duties, notices, self, settings, time, random, new Opened());
    }
}
